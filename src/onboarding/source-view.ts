// In charge of what a school's page on its data shows: how each database stands, what waits for a decision, and the last
// imports. All of one snapshot, so that what is said of the data agrees with what is said of the import. It only reads.
import { readDatabases, type ComponentDatabase } from '../collection/component-databases.ts';
import type { ImportKind } from '../collection/connector.ts';
import { shownImports } from '../collection/faults.ts';
import { findHeld, listLosses, type HeldImport, type Loss } from '../collection/held.ts';
import type { ImportReport } from '../collection/import-report.ts';
import type { Db, Sql } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';

/** A report from before there were groups has none. */
export type Report = Omit<ImportReport, 'faults'> & { faults?: ImportReport['faults'] };
export type ImportRun = {
  id: string;
  at: Date;
  kind: ImportKind | null;
  partial: boolean;
  decision: 'approved' | 'discarded' | 'replaced' | null;
  report: Report;
};
/** A line of the list of imports. */
export type ListedRun = Pick<ImportRun, 'id' | 'at' | 'kind' | 'decision'> & {
  outcome: Report['outcome'];
  overtaken: boolean;
  added: number;
  changed: number;
  removed: number;
  rejected: number;
  problemsTotal: number;
};
export type Held = HeldImport & { losses: Loss[] };
export type SourceView = { databases: ComponentDatabase[]; runs: ListedRun[]; last: ImportRun | undefined; held: Held | undefined };

export async function readSource(db: Db, estab: string): Promise<SourceView> {
  return db.begin(async (tx) => {
    await tx`set transaction isolation level repeatable read, read only`;
    // Databases that are not installed are left out: a school need not know of them.
    const databases = (await readDatabases(tx, estab)).filter(({ status }) => status !== 'NotInstalled');
    const runs = await tx<ListedRun[]>`
      select id, finished_at as at, kind, decision, outcome, coalesce((report ->> 'overtaken')::boolean, false) as overtaken, ${number(tx, 'added')},
        ${number(tx, 'changed')}, ${number(tx, 'removed')}, ${number(tx, 'rejected')}, ${number(tx, 'problemsTotal')}
      from import_run where estab = ${estab} order by finished_at desc, id limit ${shownImports}`;
    const [first] = runs;
    const held = await findHeld(tx, estab);
    return {
      databases,
      runs,
      last: first && (await findRun(tx, estab, first.id)),
      held: held && { ...held, losses: await listLosses(tx, estab, held.id) },
    };
  });
}

function number(sql: Sql, name: 'added' | 'changed' | 'removed' | 'rejected' | 'problemsTotal') {
  return sql`coalesce((report ->> ${name})::int, 0) as ${sql(name)}`;
}

async function findRun(sql: Sql, estab: string, id: string): Promise<ImportRun | undefined> {
  const [run] = await sql<ImportRun[]>`
    select id, finished_at as at, kind, partial, decision, report from import_run where estab = ${estab} and id::text = ${id}`;
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
