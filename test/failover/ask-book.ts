// In charge of every request of a drill: each is timed to the beginning of its answer, counted by kind and status, and judged as it
// comes: an answer that is none of those promised is a fault, and so is one that comes too late.

export type Kind = Readonly<{
  name: string;
  /** Until the answer begins. */
  longestMs: number;
  /** The status that says that the database is away. */
  away: number;
}>;

/** From the moment in which the primary is ended until all is well again. */
export type Gap = { from: number; to: number };
export type Answered = Readonly<{ ok: boolean; status: number; headers: Headers; text: string; begun: number }>;
export type Figures = { statuses: Record<string, number>; slowestMs: number };

/** What is measured here is late by as much as this process is busy. */
const slackMs = 1_500;
const answerMs = 15_000 + slackMs;
/** The route waits for the MIS, too. */
const writebackMs = 44_000 + slackMs;
/** What takes longer hangs. */
const hangsMs = 60_000;
const mostOfAKind = 3;

const kind = (name: string, { longestMs = answerMs, away = 503 } = {}): Kind => ({ name, longestMs, away });

export const kinds = {
  page: kind('page'),
  filter: kind('filter'),
  list: kind('whole list'),
  record: kind('record'),
  pageA: kind('page, variant A', { away: 400 }),
  listA: kind('whole list, variant A', { away: 400 }),
  page12: kind('page, 1.2'),
  tokenA: kind('token, variant A', { away: 400 }),
  tokenB: kind('token, variant B'),
  schoolToken: kind('school token'),
  schoolData: kind('school data'),
  marks: kind('marks', { longestMs: writebackMs }),
  outcome: kind('outcome'),
  register: kind('registration'),
  available: kind('data availability'),
  upload: kind('upload'),
  uploadState: kind('state of an upload'),
  alive: kind('/healthz'),
} as const;

export class AskBook {
  readonly faults: string[] = [];
  readonly gaps: Gap[] = [];
  /** Those who were told to come again although no server was lost, by kind and the id of the request. */
  readonly strays: { name: string; requestId: string }[] = [];
  readonly #figures = new Map<string, Figures>();
  readonly #said = new Map<string, number>();
  readonly #tell: (line: string) => void;

  constructor(tell: (line: string) => void) {
    this.#tell = tell;
  }

  openGap(): Gap {
    const gap = { from: performance.now(), to: Infinity };
    this.gaps.push(gap);
    return gap;
  }

  /** Of each fault of a kind the first few are told, so that one cause does not hide the others. */
  fault(what: string, detail = ''): void {
    const times = (this.#said.get(what) ?? 0) + 1;
    this.#said.set(what, times);
    if (times > mostOfAKind) return;
    const words = detail ? `${what}: ${detail}` : what;
    this.faults.push(words);
    this.#tell(words);
  }

  async ask(kind: Kind, url: string, init: RequestInit = {}): Promise<Answered> {
    const begun = performance.now();
    const figures = this.#figures.get(kind.name) ?? { statuses: {}, slowestMs: 0 };
    this.#figures.set(kind.name, figures);
    const count = (status: string) => (figures.statuses[status] = (figures.statuses[status] ?? 0) + 1);
    const none = { ok: false, status: 0, headers: new Headers(), text: '', begun };
    let response: Response;
    try {
      response = await fetch(url, { ...init, signal: AbortSignal.timeout(hangsMs) });
    } catch (error) {
      count('none');
      this.fault(`${kind.name} had no answer`, `${(error as Error).message} ${String((error as Error).cause ?? '')} after ${ms(begun)} ms`);
      return none;
    } finally {
      figures.slowestMs = Math.max(figures.slowestMs, ms(begun));
    }
    if (ms(begun) > kind.longestMs) this.fault(`${kind.name} took longer than ${kind.longestMs} ms`, `${ms(begun)} ms`);
    const text = await response.text().catch(() => undefined);
    // One that is reset half-way is seen by its reader, who asks again.
    if (text === undefined) {
      count('cut off');
      this.#noteStray(kind, response.headers, begun);
      return none;
    }
    count(String(response.status));
    const answered = { ok: response.ok, status: response.status, headers: response.headers, text, begun };
    if (!response.ok) this.#judge(kind, answered);
    return answered;
  }

  #judge(kind: Kind, { status, headers, text, begun }: Answered): void {
    if (status !== kind.away) this.fault(`${kind.name} answered ${status}`, text.slice(0, 300));
    else if (!/^\d+$/.test(headers.get('retry-after') ?? '')) this.fault(`${kind.name} answered ${status} without Retry-After`, text.slice(0, 300));
    else this.#noteStray(kind, headers, begun);
  }

  #noteStray({ name }: Kind, headers: Headers, begun: number): void {
    const touched = this.gaps.some(({ from, to }) => begun <= to && performance.now() >= from);
    if (!touched) this.strays.push({ name, requestId: headers.get('x-request-id') ?? '' });
  }

  figures(): Record<string, Figures> {
    return Object.fromEntries([...this.#figures].toSorted(([one], [other]) => (one < other ? -1 : 1)));
  }

  /** How often those who asked were told that the database is away, or were cut off. */
  refusals(): number {
    const away = new Map(Object.values(kinds).map(({ name, away }) => [name, String(away)]));
    return [...this.#figures].reduce((sum, [name, { statuses }]) => sum + (statuses[away.get(name) ?? '503'] ?? 0) + (statuses['cut off'] ?? 0), 0);
  }
}

const ms = (begun: number) => Math.round(performance.now() - begun);
