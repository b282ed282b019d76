// In charge of what the machine has to have for the drill: Debian's packages, of which only the programs are used, or the line that installs them.
import { accessSync, constants, globSync } from 'node:fs';
import { dirname, join } from 'node:path';

export type Programs = Readonly<{ patroni: string; etcd: string; haproxy: string; /** Folder of PostgreSQL's. */ postgres: string }>;

/** haproxy lies where ordinary users do not look. */
export const searchPath = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'] as const;
const oldestPostgres = 15;
const packages = { patroni: 'patroni python3-etcd', etcd: 'etcd-server', haproxy: 'haproxy', postgres: 'postgresql' } as const;

export class ProgramsMissing extends Error {}

export function requirePrograms(places: readonly string[] = searchPath, postgresVersions = '/usr/lib/postgresql'): Programs {
  const find = (name: string) => places.map((folder) => join(folder, name)).find(isExecutable);
  const found = { patroni: find('patroni'), etcd: find('etcd'), haproxy: find('haproxy'), postgres: findPostgres(postgresVersions) };
  const missing = (Object.keys(packages) as (keyof Programs)[]).filter((name) => found[name] === undefined);
  if (missing.length === 0) return found as Programs;
  const names = missing.map((name) => (name === 'postgres' ? `PostgreSQL ${oldestPostgres} or newer` : name)).join(', ');
  const line = `apt-get install --no-install-recommends ${missing.map((name) => packages[name]).join(' ')}`;
  const after = 'The services that these packages start are not used and may be stopped.';
  throw new ProgramsMissing(`this machine does not have ${names}. On Debian:\n\n  ${line}\n\n${after}`);
}

/** Debian keeps each version in a folder of its own; the newest is taken. */
function findPostgres(versions: string): string | undefined {
  const major = (file: string) => Number.parseInt(file, 10);
  const found = globSync('*/bin/postgres', { cwd: versions }).filter((file) => major(file) >= oldestPostgres && isExecutable(join(versions, file)));
  const [newest] = found.toSorted((one, other) => major(other) - major(one));
  return newest && join(versions, dirname(newest));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
