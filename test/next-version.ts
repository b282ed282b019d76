// A made-up next version of the service: a copy of this one with one more migration and a higher version number. Tests run its commands and
// processes on a database of this version.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readMigrations } from '../src/db/migrations.ts';
import { version } from '../src/version.ts';
import { copyTree } from './processes.ts';

const newest = readMigrations().at(-1)?.version ?? 0;
const number = newest + 1;

export const madeUpMigration = {
  version: number,
  name: `${String(number).padStart(4, '0')}_made_up.sql`,
  text: `-- A made-up change: it only adds, so that this version goes on working.
alter table establishment add column made_up text;
create table made_up (estab text collate "C" primary key references establishment on delete cascade, words text not null);
`,
} as const;

export const nextVersionNumber = version.replace(/\d+$/, (patch) => String(Number(patch) + 1));

/** Returns the folder of the copy. */
export function makeNextVersion(folder: string): string {
  copyTree(folder);
  writeFileSync(join(folder, 'migrations', madeUpMigration.name), madeUpMigration.text);
  const description = join(folder, 'package.json');
  writeFileSync(description, readFileSync(description, 'utf8').replace(/"version": ".*"/, `"version": "${nextVersionNumber}"`));
  return folder;
}
