// In charge of spreading a database over the nodes of Citus and bringing it back, step by step, each a transaction. A run goes on
// where one before it was interrupted, either way.
import { SchoolbellError } from '../errors.ts';
import type { Connection, Sql } from './connect.ts';
import { findCitus, findMisplaced, findUnderWay, isElsewhere, knowsNotes, listNodes, readLying, type DataNode, type Lying, type Way } from './distribution.ts';
import {
  dropLink, endBack, endOut, listDroppedLinks, listLinks, moveTable, noteUnderWay, plainNumbers, reach, restoreLink, shareFunctions, shutOutOlder,
} from './distribution-steps.ts';

/** Of a version of Citus that was tried. */
const oldestCitus = 13;
export const usualShards = 32;

/** to: undefined is back to the coordinator, and out of Citus. */
export type Move = Readonly<{ table: string; to: Lying | undefined }>;
/** underWay: what was interrupted, if anything. begun: there is something to end, even where no table has to be moved any more. */
export type Plan = Readonly<{
  way: Way;
  citus: string | undefined;
  nodes: readonly DataNode[];
  moves: readonly Move[];
  underWay: Way | undefined;
  begun: boolean;
}>;

export async function planDistribution(sql: Sql, way: Way): Promise<Plan> {
  const citus = await findCitus(sql);
  if (way === 'out') requireCitus(citus);
  const nodes = citus === undefined ? [] : await listNodes(sql);
  if (way === 'out') requireNodes(nodes);
  const lying = citus === undefined ? new Map<string, Lying>() : await readLying(sql);
  const out = async () => (await findMisplaced(sql, lying)).map(({ table, place }) => ({ table, to: place }));
  const back = () => [...lying].flatMap(([table, place]) => (place === 'local' ? [] : [{ table, to: undefined }]));
  const moves = way === 'out' ? await out() : back();
  const underWay = await findUnderWay(sql);
  return { way, citus, nodes, moves, underWay, begun: underWay !== undefined || (way === 'back' && (await knowsNotes(sql))) };
}

export const isDone = ({ moves, begun }: Plan) => moves.length === 0 && !begun;

export function requireCitus(citus: string | undefined): void {
  if (citus === undefined)
    throw new SchoolbellError(
      'conflict',
      'the database has no Citus, which spreads it over several nodes: install it beside PostgreSQL on each node, put citus first into ' +
        'shared_preload_libraries, restart PostgreSQL, and run "create extension citus" in this database on each (the embedded PostgreSQL has none: ' +
        'name a server by DATABASE_URL). Nothing was changed',
    );
  if (Number.parseInt(citus, 10) < oldestCitus)
    throw new SchoolbellError('conflict', `Citus ${citus} is too old: distribute needs ${oldestCitus} or newer. Nothing was changed`);
}

export function requireNodes(nodes: readonly DataNode[]): void {
  if (!nodes.some(({ group }) => group === 0))
    throw new SchoolbellError(
      'conflict',
      'the coordinator is not among the nodes that Citus knows: run "select citus_set_coordinator_host(\'<its name>\', <its port>)" in this database, ' +
        'with a name by which the other nodes reach it. Nothing was changed',
    );
  if (!nodes.some(({ group, active, holdsSchools }) => group !== 0 && active && holdsSchools))
    throw new SchoolbellError(
      'conflict',
      'there is no node for schools beside the coordinator: make this database and its extension citus there, then run ' +
        '"select citus_add_node(\'<its name>\', <its port>)" here. Nothing was changed',
    );
}

/** step: what was done, after its transaction has ended. */
export type OnStep = (step: string) => void | Promise<void>;

/**
 * Gives each table that was moved, with its rows. The caller sees to it that nobody else works on the database. signal: heeded before each
 * step, so that what has come to its end is not said to be stopped.
 */
export async function runDistribution(
  connection: Connection,
  { way, citus, moves }: Plan,
  shards: number,
  { onStep = () => {}, signal }: { onStep?: OnStep; signal?: AbortSignal } = {},
): Promise<{ table: string; to: Lying | undefined; rows: number }[]> {
  const step = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    signal?.throwIfAborted();
    const result = await inTransaction(connection, work);
    await onStep(name);
    return result;
  };
  const links = await listLinks(connection);
  const known = way === 'back' && citus !== undefined ? (await readLying(connection)).keys() : [];
  const moving = new Set([...moves.map(({ table }) => table), ...known]);
  await step('note', () => noteUnderWay(connection, way));
  if (way === 'out' && moves.length > 0) {
    await step('versions', () => shutOutOlder(connection));
    await step('functions', () => shareFunctions(connection));
    // Before foreign keys go, by which it is known which tables hang together.
    await step('numbers', () => plainNumbers(connection, reach(moving, links)));
  }
  for (const link of links.filter(({ table, to }) => moving.has(table) || moving.has(to)))
    await step(`foreign key ${link.name} taken away`, () => dropLink(connection, link));
  const moved = [];
  for (const { table, to } of moves)
    moved.push({ table, to, rows: await step(`table ${table}`, () => moveTable(connection, table, to, shards)) });
  if (way === 'back' && citus !== undefined) await step('rest', () => bringRest(connection));
  for (const link of await listDroppedLinks(connection)) await step(`foreign key ${link.name} put back`, () => restoreLink(connection, link));
  await step('end', () => (way === 'out' ? endOut : endBack)(connection));
  return moved;
}

/** After a migration of a spread database, in one transaction: what it made comes to lie where it is to. A start that was cut off does it later. */
export async function placeNew(tx: Sql): Promise<void> {
  const lying = await readLying(tx);
  const misplaced = (await findMisplaced(tx, lying)).filter(({ table }) => !isElsewhere(lying.get(table)));
  if (misplaced.length === 0) return;
  const moving = new Set(misplaced.map(({ table }) => table));
  await plainNumbers(tx, moving);
  for (const link of await listLinks(tx)) if (moving.has(link.table) || moving.has(link.to)) await dropLink(tx, link);
  for (const { table, place } of misplaced) await moveTable(tx, table, place, usualShards);
  for (const link of await listDroppedLinks(tx)) await restoreLink(tx, link);
}

/**
 * After all migrations. What comes back from elsewhere cannot be given its foreign keys in the transaction in which it comes (Citus 14), and
 * would be without them for a moment: that is left to the command, while nobody else works on the database.
 */
export async function requirePlaced(sql: Sql): Promise<void> {
  const names = (await findMisplaced(sql, await readLying(sql))).map(({ table }) => table);
  if (names.length === 0) return;
  throw new SchoolbellError(
    'conflict',
    `this version has another place for ${names.join(', ')} than the database, which is spread over several nodes: ` +
      'end every process and run npx schoolbell distribute, which moves that',
  );
}

/** Tables that Citus took in by their foreign keys mostly leave with these. */
async function bringRest(tx: Sql): Promise<void> {
  for (const table of (await readLying(tx)).keys()) await moveTable(tx, table, undefined, 0);
}

async function inTransaction<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  await connection`begin`;
  try {
    const result = await work();
    await connection`commit`;
    return result;
  } catch (error) {
    await connection`rollback`.catch(() => {});
    throw error;
  }
}
