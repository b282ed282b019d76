// In charge of one import in two schools: into one as it comes, where most of it may be known, into the other with everything read. Both are
// the same afterwards, in all that is kept of them.
import assert from 'node:assert/strict';
import type { CsvPackage } from '../src/collection/connectors/csv/package.ts';
import { historyTable } from '../src/collection/history.ts';
import type { ImportReport } from '../src/collection/import-report.ts';
import { allResources } from '../src/roster/collections.ts';
import type { Service } from './service.ts';

type Options = { partial?: boolean; force?: boolean };

const measured = ['roster_total', 'roster_milestone', 'roster_touch'];

export function bothWays({ db, load }: Pick<Service, 'db' | 'load'>) {
  const forget = (estab: string) => db`update reading set taken = null where estab = ${estab}`;

  /** All that is kept of a roster, but for what is of the one school alone. */
  async function contents(estab: string): Promise<Record<string, unknown>> {
    const tables: Record<string, unknown> = {};
    for (const table of [...measured, ...allResources.flatMap((one) => [one.table, historyTable(one)])])
      tables[table] = (
        await db<{ rows: string | null }[]>`
          select string_agg(row, chr(10) order by row collate "C") as rows
          from (select (to_jsonb(t) - '{estab,head}'::text[])::text as row from ${db(table)} t where estab = ${estab}) t`
      )[0]?.rows;
    tables.roster = await db`select version, history_from, history_to from roster where estab = ${estab}`;
    tables.versions = await db`select version from roster_version where estab = ${estab} order by version`;
    tables.database = await db`
      select name, status, message, row_count, refreshing_since, changed_at = updated_at as changed from component_database
      where estab = ${estab} order by name`;
    tables.marks = await db`select date, student_id, session, mark, version from attendance_mark where estab = ${estab} order by 1, 2, 3`;
    tables.faults = await db`
      select f.number, f.file, f.line, f.column_name, f.value, f.rule, f.dependants from import_fault f
        join import_run r on r.estab = ${estab} and r.id = f.import
      where f.estab = ${estab} order by r.finished_at, f.number`;
    tables.losses = await db`select collection, sourced_id, role, name, loses from import_loss where estab = ${estab} order by 1, 2`;
    tables.runs = await db`select outcome, version, kind, partial, reading from import_run where estab = ${estab} order by finished_at`;
    return tables;
  }

  async function loadBoth(one: string, whole: string, given: CsvPackage, options: Options = {}): Promise<ImportReport> {
    const short = await load(one, given, options);
    await forget(whole);
    const long = await load(whole, given, options);
    assert.deepEqual({ ...short, estab: '' }, { ...long, estab: '' });
    assert.deepEqual(await contents(one), await contents(whole));
    return short;
  }

  return { loadBoth, forget };
}
