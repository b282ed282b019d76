// In charge of keeping requests: a line for each of the last days, as long as they are not too many at once, and counts by
// the hour of all of them. Each process writes about once a second, so that no request waits for it or fails by it; what
// was not written yet when a process is killed is lost.
import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from '../db/connect.ts';
import type { EndedRequest } from '../http/request-log.ts';
import type { RequestMeter } from '../http/request-meter.ts';
import { everybody, type RequestLine } from './requests.ts';

export type RequestLines = { note(ended: EndedRequest): void; write(): Promise<void>; close(): Promise<void> };

/** As the statement takes it. place: among those that wait. */
type Line = Omit<RequestLine, 'number' | 'at' | 'requestId'> & { place: number; at: string; request_id: string };
type Hour = { hour: string; rp: string; requests: number; refused: number; failed: number; records: number; ms: number };
/** kept: how many lines wait of each caller. */
type Waiting = { lines: Line[]; kept: Map<string, number>; hours: Map<string, Hour> };

const writeEveryMs = 1_000;
/** Of one application, and of all, until they are written. */
export const mostWaiting = { ofOne: 200, ofAll: 2_000 } as const;
const longestPath = 200;
const longestUrl = 2_000;
const hourMs = 3_600_000;
const roots = /^\/(?:api|ims)(?:\/|$)/i;
/** Parts of a pattern that say what is asked for; all others may say who. */
const told: ReadonlySet<string> = new Set(['estab', 'name']);
const plainPart = /^(?:v\d[\w.]{0,8}|[A-Za-z][A-Za-z.-]{0,39})$/;
const plainEstab = /^[A-Za-z0-9._-]{1,32}$/;

type There = Readonly<{ estabs: ReadonlySet<string>; rps: ReadonlySet<string> }>;

const nothing = (): Waiting => ({ lines: [], kept: new Map(), hours: new Map() });

export function createRequestLines(db: Db, meter: Pick<RequestMeter, 'leaveOut'>, everyMs = writeEveryMs): RequestLines {
  let waiting = nothing();
  let writing: Promise<void> | undefined;

  function note({ requestId, method, url, route, words, isApi, status, ms, caller, records }: EndedRequest): void {
    if (!isApi && !roots.test(url)) return;
    const [rp, at] = [caller?.rp ?? '', Date.now()];
    const counts = { requests: 1, refused: status >= 400 && status < 500 ? 1 : 0, failed: status >= 500 ? 1 : 0, records: records ?? 0, ms };
    const hour = new Date(at - (at % hourMs)).toISOString();
    for (const whose of [rp, everybody]) addHour({ hour, rp: whose, ...counts });
    const kept = waiting.kept.get(rp) ?? 0;
    if (kept >= mostWaiting.ofOne || waiting.lines.length >= mostWaiting.ofAll) {
      meter.leaveOut(1);
      return;
    }
    waiting.kept.set(rp, kept + 1);
    waiting.lines.push({
      place: waiting.lines.length,
      at: new Date(at).toISOString(),
      rp,
      estab: caller?.estab ?? null,
      method,
      path: describePath(url, route, words),
      status,
      ms,
      records,
      request_id: requestId,
    });
  }

  function addHour(more: Hour): void {
    const key = `${more.hour} ${more.rp}`;
    const sum = waiting.hours.get(key);
    if (!sum) {
      waiting.hours.set(key, { ...more });
      return;
    }
    for (const field of ['requests', 'refused', 'failed', 'records', 'ms'] as const) sum[field] += more[field];
  }

  async function write(): Promise<void> {
    const { lines, hours } = waiting;
    waiting = nothing();
    if (hours.size === 0) return;
    try {
      // Of an application that is gone by now nothing is kept; what was asked of a school that is gone is a line of no school. What goes in this very
      // moment may leave a line or a sum of its hour, for as long as those are kept.
      const { estabs, rps } = await findThere(db, lines, [...hours.values()]);
      const isKept = ({ rp }: { rp: string }) => rp === '' || rps.has(rp);
      const keptLines = lines.filter(isKept).map((line) => (line.estab === null || estabs.has(line.estab) ? line : { ...line, estab: null }));
      const keptHours = [...hours.values()].filter((hour) => hour.rp === everybody || isKept(hour));
      const insertLines = db`
        insert into request_line (at, rp, estab, method, path, status, ms, records, request_id)
        select g.at, g.rp, g.estab, g.method, g.path, g.status, g.ms, g.records, g.request_id
        from jsonb_to_recordset(${db.json(keptLines)}) as g (place int, at timestamptz, rp text, estab text, method text, path text, status int, ms real,
          records int, request_id text)
        order by g.place`;
      const addHours = db`
        insert into request_hour (hour, rp, requests, refused, failed, records, ms)
        select g.hour, g.rp, g.requests, g.refused, g.failed, g.records, g.ms
        from jsonb_to_recordset(${db.json(keptHours)})
          as g (hour timestamptz, rp text, requests int, refused int, failed int, records bigint, ms float8)
        order by g.hour, g.rp
        on conflict (hour, rp) do update set requests = request_hour.requests + excluded.requests, refused = request_hour.refused + excluded.refused,
          failed = request_hour.failed + excluded.failed, records = request_hour.records + excluded.records, ms = request_hour.ms + excluded.ms`;
      await db.together(insertLines, addHours);
    } catch (error) {
      meter.leaveOut(lines.length);
      for (const hour of hours.values()) addHour(hour);
      throw error;
    }
  }

  /** One at a time, so that nothing is written twice. */
  const writeOnce = () => (writing ??= write().finally(() => (writing = undefined)));
  const timer = setInterval(() => void writeOnce().catch(() => {}), everyMs).unref();

  /** What is under way may have begun before the request that whoever asks has in mind. */
  const writeAll = async () => {
    await writing?.catch(() => {});
    await writeOnce();
  };
  return {
    note,
    write: writeAll,
    async close() {
      clearInterval(timer);
      await Promise.race([writeAll().catch(() => {}), pause(writeEveryMs, undefined, { ref: false })]);
    },
  };
}

/**
 * Which of their schools and applications there are. Asked apart: a statement that writes at the coordinator of a spread database and asks for what
 * lies everywhere needs every node.
 */
async function findThere(db: Db, lines: readonly Line[], hours: readonly Hour[]): Promise<There> {
  const estabs = [...new Set(lines.flatMap(({ estab }) => estab ?? []))];
  const rps = [...new Set([...lines, ...hours].map(({ rp }) => rp))];
  const [schools, applications] = await db.together(
    db<{ estab: string }[]>`select estab from establishment where estab = any(${estabs})`,
    db<{ rp: string }[]>`select rp from application where rp = any(${rps})`,
  );
  return { estabs: new Set(schools.map(({ estab }) => estab)), rps: new Set(applications.map(({ rp }) => rp)) };
}

/** What was asked for, without queries and the ids of records. A school's number and the name of an endpoint stay, if they are plain
 * words, whether or not there is such a one; at an address that is none, only the words of addresses do. */
export function describePath(url: string, route: string | undefined, words: ReadonlySet<string>): string {
  const parts = (url.split('?', 1)[0] ?? '').slice(0, longestUrl).split('/');
  const shown = route === undefined ? parts.map((part) => (part === '' || words.has(part.toLowerCase()) ? part : '…')) : fillRoute(parts, route.split('/'));
  return shown.join('/').slice(0, longestPath);
}

function fillRoute(parts: readonly string[], route: readonly string[]): string[] {
  return route.map((pattern, at) => {
    const name = pattern.startsWith(':') ? pattern.slice(1) : undefined;
    const part = parts[at] ?? '';
    return name !== undefined && told.has(name) && (name === 'estab' ? plainEstab : plainPart).test(part) ? part : pattern;
  });
}
