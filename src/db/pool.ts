// In charge of the connections of one pool: where the server is, is asked for every new one; each gets the pool's limits
// before it is used; a server that is away is waited for, as while another takes its place; and nobody waits without end.
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { Histogram } from '../histogram.ts';
import { clientClass, socketOf } from './client.ts';
import { isSpread } from './distribution.ts';
import { isOfReplicas, type PoolPolicy } from './policies.ts';
import { NotTheServer, type ServerFacts, type Servers } from './servers.ts';
import { PooledSession } from './session.ts';
import { DatabaseUnavailable, isServerError, isUnavailable } from './unavailable.ts';
import { valueParsers } from './values.ts';

/** What a pool is doing, and how long those who asked it for a connection have waited. */
export type PoolLoad = Readonly<{ inUse: number; open: number; waiting: number; waits: Histogram; refused: Readonly<Record<'busy' | 'away', number>> }>;

/** Seconds; the shortest is what one that lies ready takes. */
const waitBounds = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;
const planCacheModes = { kept: 'force_generic_plan', made: 'force_custom_plan', chosen: 'auto' } as const;
/**
 * Where Citus spreads the database, it finds the node of a school by the value: a plan for any value fails, unless Citus has chosen it itself.
 * See docs/decisions/0051.
 */
const planCacheModesOfSpread = { ...planCacheModes, kept: 'auto' } as const;
/** What a transaction says of how it is to be planned holds on the school's node, too; a node that is gone is not knocked at for half a minute. */
const settingsOfSpread = { 'citus.propagate_set_commands': 'local', 'citus.node_connection_timeout': '2000' } as const;
/** How often the server looks during a statement whether the client is still connected. Servers on Windows cannot look, and refuse the setting. */
const clientCheckMs = 1_000;
const canCheckClients = `version() ~* 'linux|darwin|bsd'`;
const idleMs = 60_000;
const keepAliveMs = 10_000;
/** Between rounds over all servers while none is to be had. */
const roundMs = 150;
/** Which become longer while nobody is there, up to so many times that: those who wait are many, and whoever is about to take over has work to do. */
const mostRounds = 4;
/** Of this process, so that the connections of one can be told from those of others. */
export const processTag = `${process.pid.toString(36)}${Date.now().toString(36).slice(-4)}`;

export class SessionPool {
  readonly policy: PoolPolicy;
  readonly #pool: pg.Pool;
  readonly #clients = new Set<pg.Client>();
  readonly #servers: Servers;
  readonly #idle = new Set<pg.Client>();
  readonly #generations = new WeakMap<pg.Client, number>();
  /** Connections to a database that lies on several nodes. */
  readonly #ofSpread = new WeakSet<pg.Client>();
  #out = 0;
  readonly #waits = new Histogram(waitBounds);
  readonly #refused = { busy: 0, away: 0 };
  /** How long the driver waits for one, before it is looked at what else could be done. */
  readonly #waitMs: number;
  #givenAt = -Infinity;
  /** When the last session came back whose statements the server had answered. */
  #answeredAt = -Infinity;
  #ending: Promise<void> | undefined;

  constructor(servers: Servers, policy: PoolPolicy) {
    this.#servers = servers;
    this.policy = policy;
    this.#waitMs = Math.ceil(policy.connectionMs / servers.count);
    this.#pool = new pg.Pool({
      Client: clientClass(() => servers.next(), this.#clients),
      max: policy.max,
      idleTimeoutMillis: idleMs,
      connectionTimeoutMillis: this.#waitMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMs,
      application_name: `schoolbell ${policy.name} ${processTag}`,
      types: valueParsers,
      onConnect: (client: pg.ClientBase) => this.#prepare(client as pg.Client),
    } as pg.PoolConfig);
    // Of connections that nobody is using; the pool has removed them.
    this.#pool.on('error', () => {});
    this.#pool.on('remove', (client) => this.#idle.delete(client as pg.Client));
    servers.onSuspect(() => {
      for (const client of this.#idle) socketOf(client).destroy();
    });
  }

  /** A connection, or the word that none was to be had in time. */
  async take(): Promise<PooledSession> {
    const begun = performance.now();
    const observe = () => this.#waits.observe((performance.now() - begun) / 1000);
    for (let tries = 1; ; tries += 1) {
      const { place } = this.#servers;
      const tryBegun = performance.now();
      try {
        const client = (await this.#pool.connect()) as pg.PoolClient & pg.Client;
        this.#idle.delete(client);
        if (socketOf(client).destroyed || this.#generations.get(client) !== this.#servers.generation) {
          client.release(true);
          tries -= 1;
          continue;
        }
        this.#out += 1;
        observe();
        return new PooledSession(client, this.policy, this.#ofSpread.has(client));
      } catch (error) {
        const busy = this.#out >= this.policy.max;
        if (!busy) this.#servers.passOver(place);
        const rest = begun + this.#longestMs(busy, begun) - performance.now();
        const rounds = tries / this.#servers.count;
        const isRoundOver = Number.isInteger(rounds);
        // Another wait, if most of it is left.
        if (this.#ending === undefined && (busy ? rest > this.#waitMs / 2 : !isRoundOver || (rest > 0 && mayPass(error)))) {
          if (isRoundOver && !busy) await pause(Math.min(rest, roundMs * Math.min(rounds, mostRounds) * (0.5 + Math.random())));
          continue;
        }
        const isOnlySlow = !busy && this.#isOnlySlow(tryBegun);
        const refusal = isOnlySlow ? this.#explainSlowOpening(error) : this.#explain(error as Error, busy ? performance.now() - begun : undefined);
        this.#refused[refusal.why === 'busy' ? 'busy' : 'away'] += 1;
        observe();
        throw refusal;
      }
    }
  }

  /** Where all have a connection and none has come back, it may be the server that does not answer. */
  #longestMs(busy: boolean, begun: number): number {
    const { connectionMs, awayMs } = this.policy;
    if (!busy) return awayMs;
    return this.#givenAt > begun ? connectionMs : Math.max(connectionMs, awayMs);
  }

  /** Back into the pool, unless something was given up or went wrong underway. */
  give(session: PooledSession): void {
    this.#out -= 1;
    this.#givenAt = performance.now();
    if (session.usable) this.#answeredAt = this.#givenAt;
    const generation = this.#generations.get(session.client) ?? 0;
    if (session.isLost) this.#servers.suspect(generation);
    else if (session.isReadOnly) this.#servers.suspectReadOnly(generation);
    const isKept = session.usable && generation === this.#servers.generation;
    if (isKept) this.#idle.add(session.client);
    (session.client as unknown as pg.PoolClient).release(!isKept);
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

  async #prepare(client: pg.Client): Promise<void> {
    const { statementMs, lockMs, idleInTransactionMs, connectionMs, plans } = this.policy;
    const settings = {
      statement_timeout: String(statementMs),
      lock_timeout: String(lockMs),
      idle_in_transaction_session_timeout: String(idleInTransactionMs),
      TimeZone: 'UTC',
      // Compiling a plan costs more than these short statements take.
      jit: 'off',
      temp_buffers: '64MB',
      // Whole lists are read to their end.
      cursor_tuple_fraction: '1',
    };
    this.#generations.set(client, this.#servers.generation);
    const late = setTimeout(() => socketOf(client).destroy(), connectionMs);
    try {
      const toSet = ([name, value]: [string, string]) => `set_config('${name}', '${value}', false)`;
      const set = Object.entries(settings).map(toSet);
      set.push(`set_config('plan_cache_mode', case when ${isSpread} then '${planCacheModesOfSpread[plans]}' else '${planCacheModes[plans]}' end, false)`);
      set.push(`case when ${canCheckClients} then ${toSet(['client_connection_check_interval', String(clientCheckMs)])} end`);
      set.push(`case when ${isSpread} then ${Object.entries(settingsOfSpread).map(toSet).join(' || ')} end`);
      await this.#servers.examine(async (asks) => {
        const { rows } = await client.query<ServerFacts>(`select ${[...asks, ...set, `${isSpread} as spread`].join(', ')}`);
        if (rows[0]?.spread === true) this.#ofSpread.add(client);
        return rows[0];
      });
    } finally {
      clearTimeout(late);
    }
  }

  /**
   * Whether the opening of a connection took its whole time, and the server answered another session meanwhile: it is there, but slow. A slow replica
   * counts as away all the same, so that the primary is asked instead.
   */
  #isOnlySlow(tryBegun: number): boolean {
    return !isOfReplicas(this.policy.name) && performance.now() - tryBegun >= this.#waitMs && this.#answeredAt > tryBegun;
  }

  #explainSlowOpening(cause: unknown): DatabaseUnavailable {
    const { name } = this.policy;
    const words = `the database did not open a connection of the pool ${name} in ${(this.#waitMs / 1000).toFixed(1)} s, but answered others`;
    return new DatabaseUnavailable('busy', words, { cause, pool: name });
  }

  /** waitedMs: while others had them all. */
  #explain(error: Error, waitedMs: number | undefined): DatabaseUnavailable {
    const about = { cause: error, pool: this.policy.name };
    if (waitedMs !== undefined)
      return new DatabaseUnavailable(
        'busy',
        `all ${this.policy.max} connections of the pool ${this.policy.name} were in use for ${(waitedMs / 1000).toFixed(1)} s`,
        about,
      );
    if (error instanceof NotTheServer) return new DatabaseUnavailable('away', error.message, about);
    return new DatabaseUnavailable(
      'away',
      `the database cannot be reached: ${error.message || (error as NodeJS.ErrnoException).code || 'no connection'}`,
      about,
    );
  }
}

/** Whether the next try may go well: a password that is wrong, or a database that is not there, will be so in a moment, too. */
function mayPass(error: unknown): boolean {
  return error instanceof NotTheServer || !isServerError(error) || isUnavailable(error);
}
