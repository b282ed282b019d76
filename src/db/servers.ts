// In charge of which server a new connection goes to: of several, the one that takes writes now, or one replica after the other. All pools of
// a process ask the same one, so that what a connection finds out is known to the next.
import { isServerError, isUnavailable } from './unavailable.ts';

/** Addresses of the servers; asked again for each connection. */
export type Where = () => readonly string[];

/** What a server says of itself. */
export type ServerFacts = Readonly<Record<string, unknown>>;

const readOnlyEveryMs = 5_000;

export class NotTheServer extends Error {}
class NotThereYet extends Error {}

const standbyRefusal = 'DATABASE_URL: this server is a standby, which only reads; name the primary (several hosts may be given, with commas between them)';

export class Servers {
  readonly #where: Where;
  readonly #dropIdle = new Set<() => void>();
  readonly #tellMoved = new Set<() => void>();
  /** Which of them took the last connection. */
  #place = 0;
  #generation = 0;
  #timeline: unknown;
  #tellsTimeline = true;
  #readOnlyAt = -Infinity;

  constructor(where: Where) {
    this.#where = where;
  }

  get count(): number {
    return Math.max(1, this.#where().length);
  }

  get place(): number {
    return this.#place;
  }

  /** For a connection that is about to be opened. */
  next(): string {
    return this.present();
  }

  protected present(): string {
    return this.#where()[this.#place % this.count] ?? '';
  }

  /** Of several who found the same server away, one moves on to the next. */
  passOver(place: number): void {
    if (this.#place === place) this.#place += 1;
  }

  /**
   * After a connection was lost, was silent or could not write, those of the same generation are not to be relied on: they have ended as well,
   * and nobody knows yet; or a machine is gone that does not even close them.
   */
  suspect(generation: number): void {
    if (generation < this.#generation) return;
    this.#generation += 1;
    for (const drop of this.#dropIdle) drop();
  }

  /** After one took no write. A single address may lead elsewhere by now, which is found out at times: as long as it does not, it reads. */
  suspectReadOnly(generation: number): void {
    if (this.count === 1 && performance.now() - this.#readOnlyAt < readOnlyEveryMs) return;
    this.#readOnlyAt = performance.now();
    this.suspect(generation);
  }

  onSuspect(drop: () => void): void {
    this.#dropIdle.add(drop);
  }

  /** Of connections that are opened from now on. */
  get generation(): number {
    return this.#generation;
  }

  /** Calls when another server has taken over, before anything is asked of it: it may lack what the one before it had confirmed. */
  onMoved(call: () => void): void {
    this.#tellMoved.add(call);
  }

  /**
   * Asks a server that a connection was opened to what is to be known of it, and throws where the connection is not to be used. Not every
   * provider's tells its timeline; there, that another has taken over is not noticed.
   */
  async examine(ask: (asks: readonly string[]) => Promise<ServerFacts | undefined>): Promise<void> {
    const wasAsked = this.#tellsTimeline;
    const facts = await ask(this.asks).catch((error: unknown) => {
      if (!wasAsked || !isServerError(error) || isUnavailable(error)) throw error;
      this.#tellsTimeline = false;
      return ask(this.asks);
    });
    this.require(facts);
  }

  /** For `require`. */
  protected get asks(): readonly string[] {
    const timeline = `case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline`;
    return [`pg_is_in_recovery() as standby`, `current_setting('transaction_read_only') = 'on' as "readOnly"`, ...(this.#tellsTimeline ? [timeline] : [])];
  }

  /** A single server that takes no writes for a while still reads. */
  protected require(facts: ServerFacts | undefined): void {
    if (this.count > 1 && facts?.readOnly) throw new NotTheServer('none of the servers in DATABASE_URL takes writes at present');
    if (facts?.standby) throw new NotTheServer(standbyRefusal);
    const before = this.#timeline;
    this.#timeline = facts?.timeline;
    if (before !== undefined && before !== this.#timeline) for (const tell of this.#tellMoved) tell();
  }
}

/** What tells this database from any other, on each of its servers: when it was made. Not as a date: a connection may be of another time zone. */
export const originOf = '(select extract(epoch from applied_at)::text from migration where version = 1)';

/** Servers that only have to be of the same database; connections are spread over them. */
export class Replicas extends Servers {
  readonly #origin: string;

  constructor(where: Where, origin: string) {
    super(where);
    this.#origin = origin;
  }

  override next(): string {
    const address = this.present();
    this.passOver(this.place);
    return address;
  }

  protected override get asks(): readonly string[] {
    return [`${originOf} as origin`];
  }

  protected override require(facts: ServerFacts | undefined): void {
    if (facts?.origin === null) throw new NotThereYet('a server in DATABASE_READ_URL does not have the database yet');
    if (facts?.origin !== this.#origin) throw new NotTheServer('a server in DATABASE_READ_URL has another database than those in DATABASE_URL');
  }
}

/** For what is read by several statements that belong together: one replica, until it does not answer. */
export class OneReplica extends Replicas {
  override next(): string {
    return this.present();
  }

  override passOver(place: number): void {
    super.passOver(place);
    this.suspect(this.generation);
  }
}
