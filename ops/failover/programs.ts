// In charge of what the machine has to have for the drill: Debian's packages, of which only the programs are used, or the line that installs them.
import { accessSync, constants, globSync } from 'node:fs';
import { dirname, join } from 'node:path';

export type Programs = Readonly<{ patroni: string; etcd: string; haproxy: string; /** Folder of PostgreSQL's. */ postgres: string }>;

/** haproxy lies where ordinary users do not look. */
export const searchPath = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'] as const;
const oldestPostgres = 15;
const packages = { patroni: 'patroni python3-etcd', etcd: 'etcd-server', haproxy: 'haproxy', postgres: 'postgresql' } as const;

export class ProgramsMissing extends Error {}

export function requirePrograms(): Programs {
  const found = { patroni: findProgram('patroni'), etcd: findProgram('etcd'), haproxy: findProgram('haproxy'), postgres: findPostgres() };
  const missing = (Object.keys(packages) as (keyof Programs)[]).filter((name) => found[name] === undefined);
  if (missing.length === 0) return found as Programs;
  const names = missing.map((name) => (name === 'postgres' ? `PostgreSQL ${oldestPostgres} or newer` : name)).join(', ');
  const line = `apt-get install --no-install-recommends ${missing.map((name) => packages[name]).join(' ')}`;
  throw new ProgramsMissing(`this machine does not have ${names}. On Debian:\n\n  ${line}\n\nThe services that these packages start are not used and may be stopped.`);
}

function findProgram(name: string): string | undefined {
  return searchPath.map((folder) => join(folder, name)).find(isExecutable);
}

/** Debian keeps each version in a folder of its own; the newest is taken. */
function findPostgres(): string | undefined {
  const versions = globSync('/usr/lib/postgresql/*/bin/postgres').filter(isExecutable).map((file) => ({ file, major: Number(file.split('/')[4]) }));
  const [newest] = versions.filter(({ major }) => major >= oldestPostgres).toSorted((one, other) => other.major - one.major);
  return newest && dirname(newest.file);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
