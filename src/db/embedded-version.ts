// Refuses a cluster that another major version of PostgreSQL made. The installed programs cannot read it, and nothing converts it in place.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { EnvironmentFault } from '../environment-fault.ts';
import { findCluster, installedPrograms } from './embedded-place.ts';

/** Returns the cluster of the data folder, or undefined if it has none. Throws if another major version made it. Changes nothing. */
export function findReadableCluster(dataDir: string): string | undefined {
  const cluster = findCluster(dataDir);
  if (cluster !== undefined) requireSameMajor(cluster, installedPrograms(), dataDir);
  return cluster;
}

/** `programs` is the folder "native" of the installed package, whose version begins with that of PostgreSQL. */
function requireSameMajor(cluster: string, programs: string, dataDir: string): void {
  const made = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim();
  const { version } = JSON.parse(readFileSync(join(dirname(programs), 'package.json'), 'utf8')) as { version: string };
  const [installed = ''] = version.split('.');
  if (made === installed) return;
  throw new EnvironmentFault(
    `The database in DATA_DIR ${dataDir} (${cluster}) was made by PostgreSQL ${made}, and this version of Schoolbell has PostgreSQL ${installed}, which ` +
      'cannot read it. Nothing was changed. To move the data:\n' +
      '  1. Install the release of Schoolbell that last ran with this DATA_DIR, and back up with it: npx schoolbell backup <file>\n' +
      '  2. Install this release again, and restore into a new DATA_DIR: DATA_DIR=<new folder> npx schoolbell restore <file>\n' +
      '  3. Start with the new DATA_DIR, and remove the old one when all is well',
  );
}
