// In charge of what the figures do with rosters: import a package, and wait for the file of a list.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openCsvSource } from '../src/collection/connectors/csv/csv-source.ts';
import { openPackage } from '../src/collection/connectors/csv/package.ts';
import { importRoster } from '../src/collection/import.ts';
import type { ImportReport } from '../src/collection/import-report.ts';
import { parseListName } from '../src/roster/list-folder.ts';
import { get, type Bench, type Door } from './bench.ts';

export const list = '/ims/oneroster/v1p1/enrollments';

export async function importPackage({ db, folder: dataDir }: Pick<Bench, 'db' | 'folder'>, estab: string, folder: string): Promise<ImportReport> {
  const report = await importRoster(db, async () => openCsvSource(await openPackage(folder)), {
    estab,
    dataDir,
    partial: false,
    force: false,
    shrinkLimitPercent: 20,
  });
  if (report.outcome === 'refused' || report.outcome === 'held') throw new Error(JSON.stringify(report.problems[0]));
  return report;
}

/** Asks for pages of it until the version that stands has one; gives where it is. */
export async function untilListFile(bench: Bench, estab: string, path = `${list}?limit=100`, door: Door = bench): Promise<string> {
  for (;;) {
    await (await get(door, path)).arrayBuffer();
    const file = await findListFile(bench, estab);
    if (file !== undefined) return file;
    await pause(50);
  }
}

/** The first that was made of the version that stands. */
async function findListFile({ db, folder }: Bench, estab: string): Promise<string | undefined> {
  const [roster] = await db<{ id: string; version: number }[]>`select id, version from roster where estab = ${estab}`;
  const lists = join(folder, 'lists');
  const names = await readdir(lists).catch(() => []);
  const found = names.find((name) => {
    const named = parseListName(name);
    return named?.rosterId === roster?.id && named?.version === roster?.version && named?.compressed === undefined;
  });
  return found && join(lists, found);
}
