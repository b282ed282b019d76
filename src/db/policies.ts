// In charge of how long anybody waits for the database: one row for each pool. A statement, a lock and a transaction in
// which nothing happens are ended by the server; a server that does not even do that is given up on this side.
import type { Role } from '../config.ts';

/**
 * kept: a statement is planned once, whatever the values; planning a page again would cost more than reading it.
 * made: anew for the values at hand; a filter that matches a hundred of a million rows needs another plan than one
 * that matches them all. chosen: PostgreSQL chooses.
 */
export type Plans = 'kept' | 'made' | 'chosen';

export type PoolPolicy = Readonly<{
  name: string;
  /** Connections at most. */
  max: number;
  plans: Plans;
  /** Until a connection of the pool is had, while others have them all. */
  connectionMs: number;
  /** How long a server that is away, or takes no writes, is waited for: another may be about to take its place. */
  awayMs: number;
  /** The server's limits. */
  statementMs: number;
  lockMs: number;
  idleInTransactionMs: number;
  /** Until a statement is given up and its connection destroyed; later than the server's own limit. */
  answerMs: number;
}>;

const second = 1_000;
const minute = 60 * second;

function policy(
  name: string,
  max: number,
  plans: Plans,
  limits: readonly [connection: number, away: number, statement: number, lock: number, idle: number, answer: number],
): PoolPolicy {
  const [connectionMs, awayMs, statementMs, lockMs, idleInTransactionMs, answerMs] = limits;
  return { name, max, plans, connectionMs, awayMs, statementMs, lockMs, idleInTransactionMs, answerMs };
}

/**
 * Of the API first. While the server is there, each request knows who is calling within 5 s and has a filter's answer within 12; while it is
 * away, what comes first waits longest, so that the rest fits; see `http/deadline` for the end of all.
 */
export const policies = {
  /** Who is calling. */
  callers: policy('callers', 6, 'kept', [2 * second, 9 * second, 2.5 * second, second, 5 * second, 3 * second]),
  /** Small reads: pages of lists, and of school data. */
  reads: policy('reads', 8, 'kept', [3 * second, 6 * second, 5 * second, 2 * second, 10 * second, 6 * second]),
  /** Filtered lists. */
  searches: policy('searches', 6, 'made', [3 * second, 6 * second, 8 * second, 2 * second, 10 * second, 8.5 * second]),
  /** Whole lists, so that slow readers of those hold up no page. A statement is one batch of records. */
  lists: policy('lists', 16, 'made', [5 * second, 6 * second, 9 * second, 2 * second, 2 * minute, 9.5 * second]),
  /** Judging secrets, so that a flood of tries holds up nobody else. */
  tries: policy('tries', 4, 'chosen', [4 * second, 9 * second, 3 * second, 3 * second, 5 * second, 4 * second]),
  /** Trying passwords of strangers, whose flood is to hold up nobody else either. */
  signIns: policy('signins', 3, 'chosen', [8 * second, 9 * second, 3 * second, 2 * second, 5 * second, 4 * second]),
  /** What the API and the pages write. */
  changes: policy('changes', 8, 'chosen', [4 * second, 8 * second, 8 * second, 5 * second, 10 * second, 9 * second]),
  /** Whether the process can serve, which is to be known at once. */
  probes: policy('probes', 1, 'chosen', [second, 0, 2 * second, second, 2 * second, 2.5 * second]),
  /** What the console shows, so that whoever looks holds up nobody who calls. */
  console: policy('console', 3, 'chosen', [3 * second, 9 * second, 5 * second, 2 * second, 10 * second, 6 * second]),
  /** The worker's own statements: few, and always the same. */
  outbox: policy('outbox', 6, 'kept', [5 * second, 10 * second, 8 * second, 5 * second, 5 * second, 10 * second]),
  /** Whether the node of a school answers, where there are several: of one that is gone nothing comes back, and others are asked for meanwhile. */
  nodes: policy('nodes', 3, 'chosen', [second, second, second, second, 2 * second, 1.2 * second]),
  /** Merges. While a source is read no connection is held, except for up to a minute while a large local file is staged. */
  collections: policy('collections', 8, 'chosen', [30 * second, minute, 5 * minute, 2 * minute, minute, 5.5 * minute]),
  writebacks: policy('writebacks', 4, 'chosen', [10 * second, 15 * second, 10 * second, 10 * second, 30 * second, 12 * second]),
  chores: policy('chores', 4, 'chosen', [10 * second, 10 * second, 2 * minute, 10 * second, minute, 2.5 * minute]),
  /** A whole table is one statement, and what it writes to may be slow. */
  backups: policy('backups', 2, 'chosen', [30 * second, 30 * second, 720 * minute, minute, 30 * minute, 721 * minute]),
  commands: policy('commands', 4, 'chosen', [30 * second, 0, 15 * minute, 5 * minute, 2 * minute, 16 * minute]),
  /** Migrations, the backup before them, and whoever waits for another process to finish both. */
  setup: policy('setup', 5, 'chosen', [30 * second, 0, 60 * minute, 10 * minute, 10 * minute, 61 * minute]),
} as const satisfies Record<string, PoolPolicy>;

/** On replicas; what they cannot answer the primary does, and nobody is to have waited long before it is asked. */
const replicaName = 'replica';
const onReplicas = (of: PoolPolicy): PoolPolicy => ({ ...of, name: `${replicaName}${of.name}`, connectionMs: second, awayMs: 0 });
export const isOfReplicas = (name: string | undefined) => name?.startsWith(replicaName) === true;
export const replicaPolicies = {
  reads: onReplicas(policies.reads),
  searches: onReplicas(policies.searches),
  lists: onReplicas(policies.lists),
  console: onReplicas(policies.console),
} as const;

export const apiPools = ['callers', 'reads', 'searches', 'lists', 'tries', 'signIns', 'changes', 'console', 'probes'] as const;
export const workPools = ['outbox', 'nodes', 'collections', 'writebacks', 'chores', 'backups'] as const;
/** Of a worker: for work, and for changes of status. Of the API: for outcomes. */
const listeners = { worker: 2, api: 1, all: 3 } as const;

/** As many as all pools of a process may open. */
export function connectionsOf(role: Role): number {
  const used = ['chores', ...(role === 'worker' ? (['probes'] as const) : apiPools), ...(role === 'api' ? [] : workPools)] as const;
  return used.reduce<number>((sum, name) => sum + policies[name].max, listeners[role]);
}
