// In charge of the drill's own folder and of every process that runs in it: as an account that is not root, with logs to look at when
// something fails, and nothing left of either afterwards.
import { spawn } from 'node:child_process';
import { chmodSync, chownSync, closeSync, globSync, mkdirSync, mkdtempSync, openSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { freeze, kill } from './processes.ts';
import { searchPath } from './programs.ts';

export type Scratch = Readonly<{
  folder: string;
  /** A folder for one of the servers, which nobody else can read. */
  makeFolder(name: string): string;
  /** A file that the servers can read and nobody else. */
  write(name: string, text: string): string;
  /** What it says goes to a log of that name. It does not hear a terminal's Ctrl-C: the drill ends it. */
  start(name: string, program: string, args: readonly string[], env?: Record<string, string>): number;
  /** Ends a process that was started here and the PostgreSQL of a data directory, with all that they started, as if their machine lost its power. */
  kill(pid: number, dataDir: string): Promise<void>;
  /** As if their machine hung: nothing goes on, and no connection ends. */
  freeze(pid: number, dataDir: string): void;
  /** The last lines of each log. */
  lastWords(): string;
  /** No process and no file is left. May be called again. */
  clear(): Promise<void>;
}>;

type Account = Readonly<{ uid: number; gid: number }>;

const linesOfLog = 15;
/** As it is at the start: while a scratch folder is open, what the drill itself writes goes there. */
const temporary = realpathSync(tmpdir());

export function openScratch(): Scratch {
  const account = process.getuid?.() === 0 ? requireAccount() : undefined;
  const folder = mkdtempSync(join(temporary, 'schoolbell-failover-'));
  let isCleared = false;
  hand(folder, 0o700);

  function hand(path: string, mode: number): void {
    chmodSync(path, mode);
    if (account) chownSync(path, account.uid, account.gid);
  }

  return {
    folder,
    makeFolder(name) {
      const path = join(folder, name);
      mkdirSync(path);
      hand(path, 0o700);
      return path;
    },
    write(name, text) {
      const path = join(folder, name);
      writeFileSync(path, text);
      hand(path, 0o600);
      return path;
    },
    start(name, program, args, env = {}) {
      if (isCleared) throw new Error('the drill has ended');
      const log = openSync(join(folder, `${name}.log`), 'a');
      const child = spawn(program, args, {
        cwd: folder,
        detached: true,
        stdio: ['ignore', log, log],
        env: { PATH: searchPath.join(':'), HOME: folder, LC_ALL: 'C.UTF-8', ...env },
        ...account,
      });
      closeSync(log);
      child.on('error', () => {});
      child.unref();
      if (child.pid === undefined) throw new Error(`${program} cannot be started`);
      return child.pid;
    },
    kill: (pid, dataDir) => kill((one) => one.pid === pid || isServerIn(dataDir, one.command)),
    freeze: (pid, dataDir) => freeze((one) => one.pid === pid || isServerIn(dataDir, one.command)),
    lastWords: () =>
      globSync(join(folder, '*.log')).toSorted()
        .map((file) => `--- ${basename(file, '.log')}\n${readFileSync(file, 'utf8').trimEnd().split('\n').slice(-linesOfLog).join('\n')}`)
        .join('\n'),
    async clear() {
      isCleared = true;
      await kill((one) => one.pid === process.pid || isServerIn(folder, one.command));
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}

/** Patroni lets go of the PostgreSQL that it starts: it is nobody's child, and known by its data directory. */
const isServerIn = (place: string, command: string) => /^\S*\/postgres /.test(command) && command.includes(` -D ${place}`);

/** PostgreSQL refuses to run as root; the account that comes with its package is meant for it. */
function requireAccount(): Account {
  for (const name of ['postgres', 'nobody']) {
    const [, uid, gid] = new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, 'm').exec(readFileSync('/etc/passwd', 'utf8')) ?? [];
    if (uid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error('started as root, and there is no account "postgres" or "nobody" to run the servers as');
}
