// In charge of the connections of one pool: where the server is, is asked for every new one; each gets the pool's limits
// before it is used; and nobody waits for one without end.
import pg from 'pg';
import { Histogram } from '../histogram.ts';
import { clientClass, socketOf } from './client.ts';
import type { PoolPolicy } from './policies.ts';
import { PooledSession } from './session.ts';
import { DatabaseUnavailable } from './unavailable.ts';
import { valueParsers } from './values.ts';

/** Addresses of the servers, one of which takes writes; asked again for each connection. */
export type Where = () => readonly string[];

/** What a pool is doing, and how long those who asked it for a connection have waited. */
export type PoolLoad = Readonly<{ inUse: number; open: number; waiting: number; waits: Histogram; refused: Readonly<Record<'busy' | 'away', number>> }>;

/** Seconds; the shortest is what one that lies ready takes. */
const waitBounds = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;
const planCacheModes = { kept: 'force_generic_plan', made: 'force_custom_plan', chosen: 'auto' } as const;
const idleMs = 60_000;
const keepAliveMs = 10_000;
/** Of this process, so that the connections of one can be told from those of others. */
export const processTag = `${process.pid.toString(36)}${Date.now().toString(36).slice(-4)}`;

class NotPrimary extends Error {}

export class SessionPool {
  readonly policy: PoolPolicy;
  readonly #pool: pg.Pool;
  readonly #clients = new Set<pg.Client>();
  readonly #where: Where;
  /** Which of the servers took the last connection. */
  #current = 0;
  #out = 0;
  readonly #waits = new Histogram(waitBounds);
  readonly #refused = { busy: 0, away: 0 };
  #ending: Promise<void> | undefined;

  constructor(where: Where, policy: PoolPolicy) {
    this.#where = where;
    this.policy = policy;
    this.#pool = new pg.Pool({
      Client: clientClass(() => this.#address(), this.#clients),
      max: policy.max,
      idleTimeoutMillis: idleMs,
      connectionTimeoutMillis: Math.ceil(policy.connectionMs / Math.max(1, where().length)),
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMs,
      application_name: `schoolbell ${policy.name} ${processTag}`,
      types: valueParsers,
      onConnect: (client: pg.ClientBase) => this.#prepare(client as pg.Client),
    } as pg.PoolConfig);
    // Of connections that nobody is using; the pool has removed them.
    this.#pool.on('error', () => {});
  }

  /** A connection, or the word that none was to be had in time. */
  async take(): Promise<PooledSession> {
    const begun = performance.now();
    const deadline = begun + this.policy.connectionMs;
    for (let tries = 1; ; tries += 1) {
      const at = this.#current;
      try {
        const client = (await this.#pool.connect()) as pg.PoolClient & pg.Client;
        this.#out += 1;
        this.#waits.observe((performance.now() - begun) / 1000);
        return new PooledSession(client, this.policy);
      } catch (error) {
        // Of several who found the same server away, one moves on to the next.
        if (this.#current === at && this.#out < this.policy.max) this.#current += 1;
        if (tries < this.#where().length && performance.now() <= deadline) continue;
        const refusal = this.#explain(error as Error);
        this.#refused[refusal.why === 'busy' ? 'busy' : 'away'] += 1;
        this.#waits.observe((performance.now() - begun) / 1000);
        throw refusal;
      }
    }
  }

  /** Back into the pool, unless something was given up or went wrong underway. */
  give(session: PooledSession): void {
    this.#out -= 1;
    (session.client as unknown as pg.PoolClient).release(!session.usable);
  }

  load(): PoolLoad {
    return { inUse: this.#out, open: this.#pool.totalCount, waiting: this.#pool.waitingCount, waits: this.#waits, refused: this.#refused };
  }

  async end(timeoutMs: number): Promise<void> {
    this.#ending ??= this.#pool.end();
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([this.#ending, new Promise<void>((resolve) => (timer = setTimeout(resolve, timeoutMs)))]).finally(() => clearTimeout(timer));
    for (const client of this.#clients) socketOf(client).destroy();
  }

  #address(): string {
    const all = this.#where();
    return all[this.#current % Math.max(1, all.length)] ?? '';
  }

  async #prepare(client: pg.Client): Promise<void> {
    const { statementMs, lockMs, idleInTransactionMs, connectionMs, plans } = this.policy;
    const settings = {
      statement_timeout: String(statementMs),
      lock_timeout: String(lockMs),
      idle_in_transaction_session_timeout: String(idleInTransactionMs),
      plan_cache_mode: planCacheModes[plans],
      TimeZone: 'UTC',
      // Compiling a plan costs more than these short statements take.
      jit: 'off',
      temp_buffers: '64MB',
      // Whole lists are read to their end.
      cursor_tuple_fraction: '1',
    };
    const late = setTimeout(() => socketOf(client).destroy(), connectionMs);
    try {
      const { rows } = await client.query<{ standby: boolean }>(
        `select pg_is_in_recovery() as standby, ${Object.entries(settings).map(([name, value]) => `set_config('${name}', '${value}', false)`).join(', ')}`,
      );
      if (rows[0]?.standby && this.#where().length > 1) throw new NotPrimary('this server only reads');
    } finally {
      clearTimeout(late);
    }
  }

  #explain(error: Error): DatabaseUnavailable {
    if (this.#out >= this.policy.max)
      return new DatabaseUnavailable(
        'busy',
        `all ${this.policy.max} connections of the pool ${this.policy.name} were in use for ${this.policy.connectionMs / 1000} s`,
        error,
      );
    if (error instanceof NotPrimary) return new DatabaseUnavailable('away', 'none of the servers in DATABASE_URL takes writes at present', error);
    return new DatabaseUnavailable(
      'away',
      `the database cannot be reached: ${error.message || (error as NodeJS.ErrnoException).code || 'no connection'}`,
      error,
    );
  }
}
