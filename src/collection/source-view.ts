// In charge of what a page on a school's data shows: how each database stands, what waits for a decision, and the last
// imports. What is said of the data agrees with what is said of the import: if the data moved meanwhile, it is read again. It only reads.
import { readDatabases, type ComponentDatabase } from './component-databases.ts';
import type { ImportKind } from './connector.ts';
import { shownImports } from './faults.ts';
import { findHeld, listLosses, type HeldImport, type Loss } from './held.ts';
import type { ImportReport } from './import-report.ts';
import type { Db, Sql } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';

export type ImportRun = {
  id: string;
  at: Date;
  kind: ImportKind;
  partial: boolean;
  decision: 'approved' | 'discarded' | 'replaced' | null;
  decidedAt: Date | null;
  startedAt: Date;
  provider: string | null;
  report: ImportReport;
};
/** A line of the list of imports. */
export type ListedRun = Pick<ImportRun, 'id' | 'at' | 'kind' | 'decision'> & {
  outcome: ImportReport['outcome'];
  overtaken: boolean;
  added: number;
  changed: number;
  removed: number;
  rejected: number;
  problemsTotal: number;
  /** The source could not show which records left. */
  leaversUnreported: boolean;
};
/** losses: who would go, where that was asked for. */
export type Held = HeldImport & { losses: Loss[] };
export type SourceView = { databases: ComponentDatabase[]; runs: ListedRun[]; last: ImportRun | undefined; held: Held | undefined };

/** Whoever looks while one import follows another sees the last of so many. */
const mostReadings = 5;

/** Databases and imports may lie on different nodes, where no snapshot is of both. */
export async function readSource(db: Db, estab: string, { losses = false }: { losses?: boolean } = {}): Promise<SourceView> {
  let databases = await readInstalled(db, estab);
  for (let left = mostReadings - 1; ; left -= 1) {
    const imports = await readImports(db, estab, losses);
    const after = await readInstalled(db, estab);
    if (left === 0 || isSame(databases, after)) return { databases: after, ...imports };
    databases = after;
  }
}

/** Databases that are not installed are left out: a school need not know of them. */
async function readInstalled(db: Db, estab: string): Promise<ComponentDatabase[]> {
  return (await readDatabases(db, estab)).filter(({ status }) => status !== 'NotInstalled');
}

/** How far a collection has come is another thing every second. */
function isSame(some: readonly ComponentDatabase[], others: readonly ComponentDatabase[]): boolean {
  const [one, other] = [some, others].map((all) => JSON.stringify(all.map((database) => ({ ...database, progress: null }))));
  return one === other;
}

async function readImports(db: Db, estab: string, losses: boolean): Promise<Omit<SourceView, 'databases'>> {
  const runs = await db<ListedRun[]>`select ${listed(db)} from import_run where estab = ${estab} order by finished_at desc, id limit ${shownImports}`;
  const [first] = runs;
  const held = await findHeld(db, estab);
  return {
    runs,
    last: first && (await findRun(db, estab, first.id)),
    held: held && { ...held, losses: losses ? await listLosses(db, estab, held.id) : [] },
  };
}

const listed = (sql: Sql) => sql`
  id, finished_at as at, kind, decision, outcome, coalesce((report ->> 'overtaken')::boolean, false) as overtaken, ${number(sql, 'added')},
  ${number(sql, 'changed')}, ${number(sql, 'removed')}, ${number(sql, 'rejected')}, ${number(sql, 'problemsTotal')},
  report ? 'leaversUnreported' as "leaversUnreported"`;

/** version: what the roster was at when it had ended. */
export type PagedRun = ListedRun & { startedAt: Date; version: number };

const uuid = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i;

/** By when they began, newest first; `before` is the id of the last one that was seen. */
export async function listImports(sql: Sql, estab: string, { before, most }: { before?: string | undefined; most: number }): Promise<PagedRun[]> {
  const older = before !== undefined && uuid.test(before);
  return sql<PagedRun[]>`
    select ${listed(sql)}, started_at as "startedAt", version from import_run where estab = ${estab}
      ${older ? sql`and (started_at, id) < (select b.started_at, b.id from import_run b where b.estab = ${estab} and b.id = ${before})` : sql``}
    order by started_at desc, id desc limit ${most}`;
}

function number(sql: Sql, name: 'added' | 'changed' | 'removed' | 'rejected' | 'problemsTotal') {
  return sql`(report ->> ${name})::int as ${sql(name)}`;
}

async function findRun(sql: Sql, estab: string, id: string): Promise<ImportRun | undefined> {
  const [run] = await sql<ImportRun[]>`
    select id, finished_at as at, started_at as "startedAt", kind, provider, partial, decision, decided_at as "decidedAt", report
    from import_run where estab = ${estab} and id::text = ${id}`;
  return run;
}

export async function requireRun(db: Db, estab: string, id: string): Promise<ImportRun> {
  const run = await findRun(db, estab, id);
  if (!run) throw new SchoolbellError('not_found', 'This import is not known any more.');
  return run;
}

/** The last import, if it was refused and nothing has been collected since. */
export function refusedSince({ name, updatedAt, status }: ComponentDatabase, last: ListedRun | undefined): Date | undefined {
  if (name !== 'SchoolData' || status === 'Paused' || last?.outcome !== 'refused' || last.overtaken) return undefined;
  return updatedAt === null || updatedAt <= last.at ? last.at : undefined;
}
