// In charge of which server a new connection goes to: of several, the one that takes writes now, or one replica after the other. All pools of
// a process ask the same one, so that what a connection finds out is known to the next.

/** Addresses of the servers; asked again for each connection. */
export type Where = () => readonly string[];

/** What a server says of itself. */
export type ServerFacts = Readonly<Record<string, unknown>>;

export class NotTheServer extends Error {}

const standbyRefusal = 'DATABASE_URL: this server is a standby, which only reads; name the primary (several hosts may be given, with commas between them)';

export class Servers {
  readonly #where: Where;
  readonly #dropIdle = new Set<() => void>();
  /** Which of them took the last connection. */
  #place = 0;

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
    return this.#where()[this.#place % this.count] ?? '';
  }

  /** Of several who found the same server away, one moves on to the next. */
  passOver(place: number): void {
    if (this.#place === place) this.#place += 1;
  }

  /**
   * After a connection was lost, or was silent, those that nobody is using are not to be relied on: they have ended as well, and nobody knows
   * yet; or a machine is gone that does not even close them.
   */
  suspect(): void {
    for (const drop of this.#dropIdle) drop();
  }

  onSuspect(drop: () => void): void {
    this.#dropIdle.add(drop);
  }

  /** Of a server that a connection was opened to, for `require`. */
  get asks(): string {
    return `pg_is_in_recovery() as standby, current_setting('transaction_read_only') = 'on' as "readOnly"`;
  }

  /** Throws where the connection is not to be used. A single server that takes no writes for a while still reads. */
  require(facts: ServerFacts | undefined): void {
    if (this.count > 1 && facts?.readOnly) throw new NotTheServer('none of the servers in DATABASE_URL takes writes at present');
    if (facts?.standby) throw new NotTheServer(standbyRefusal);
  }
}

/** What tells this database from any other, on each of its servers: when it was made. */
export const originOf = '(select applied_at::text from migration where version = 1)';

/** Servers that only have to be of the same database; connections are spread over them. */
export class Replicas extends Servers {
  readonly #origin: string;

  constructor(where: Where, origin: string) {
    super(where);
    this.#origin = origin;
  }

  override next(): string {
    const address = super.next();
    this.passOver(this.place);
    return address;
  }

  override get asks(): string {
    return `${originOf} as origin`;
  }

  override require(facts: ServerFacts | undefined): void {
    if (facts?.origin !== this.#origin) throw new NotTheServer('a server in DATABASE_READ_URL has another database than those in DATABASE_URL');
  }
}
