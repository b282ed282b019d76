// In charge of finding the browser that tests open pages with: the first of those on this machine, or to be had for it, that starts.
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';
import { downloadBrowser, unpackBrowser, unpackedBrowser } from './get-browser.ts';

export type Machine = Readonly<{
  platform: string;
  architecture: string;
  environment: Readonly<Record<string, string | undefined>>;
  home: string;
  /** Where absolute paths begin: nothing, but for tests. */
  root: string;
  unpack(): Promise<string>;
  download(): Promise<string>;
}>;

export type Found<Started> = Readonly<{
  path: string;
  started: Started;
  /** Those before it, each with the reason why it does not start. */
  passedOver: readonly string[];
}>;

type Candidate = Readonly<{ name: string; locate(): string | Promise<string> }>;

const thisMachine: Machine = {
  platform: process.platform,
  architecture: process.arch,
  environment: process.env,
  home: homedir(),
  root: '',
  unpack: () => unpackBrowser(process.env),
  download: () => downloadBrowser(process.env),
};

/** Set for test files when there is none, so that not every one of them waits for a download again. */
const none = 'SCHOOLBELL_NO_BROWSER';

export async function findBrowser<Started>(start: (path: string) => Promise<Started>, machine = thisMachine): Promise<Found<Started>> {
  const known = machine.environment[none];
  if (known !== undefined) throw new Error(known);
  const passedOver: string[] = [];
  for (const { name, locate } of candidates(machine)) {
    try {
      const path = await locate();
      return { path, started: await start(path), passedOver };
    } catch (error) {
      passedOver.push(`${name}: ${reason(error)}`);
    }
  }
  throw new Error(`no browser starts: set CHROMIUM_PATH to a Chromium, Chrome or Edge, or install Chromium (tried ${passedOver.join('; ')})`);
}

/** Without Chromium's sandbox, which root cannot have and many containers do not allow: the pages are our own. */
export async function startBrowser(path: string): Promise<Browser> {
  // Playwright would leave its folders behind.
  if (!existsSync(path)) throw new Error('there is no such file');
  const args = path === unpackedBrowser ? (await import('@sparticuz/chromium')).default.args : [];
  return chromium.launch({ executablePath: path, args, headless: true, chromiumSandbox: false, timeout: 180_000 });
}

/** Finds it once for many test files, and gives the environment that tells them. */
export async function handOnBrowser(): Promise<NodeJS.ProcessEnv> {
  try {
    const { path, started, passedOver } = await findBrowser(startBrowser);
    await started.close();
    for (const one of passedOver) console.log(`browser: not ${one}`);
    console.log(`browser: ${path}`);
    return { ...process.env, CHROMIUM_PATH: path };
  } catch (error) {
    const { message } = error as Error;
    console.log(`browser: ${message}`);
    return { ...process.env, [none]: message };
  }
}

function candidates(machine: Machine): Candidate[] {
  const { environment, platform, architecture, unpack, download } = machine;
  const given = environment.CHROMIUM_PATH ?? '';
  return [
    ...(given === '' ? [] : [{ name: `CHROMIUM_PATH ${given}`, locate: () => given }]),
    ...installed(machine).map((path) => ({ name: path, locate: () => path })),
    ...(platform === 'linux' && architecture === 'x64' ? [{ name: '@sparticuz/chromium', locate: unpack }] : []),
    { name: 'playwright-core install chromium-headless-shell', locate: download },
  ];
}

/** Programs of this machine, in the order in which they are tried. */
function installed({ platform, environment, home, root }: Machine): string[] {
  const paths: string[] = [];
  if (platform === 'win32') {
    const folders = [environment.ProgramFiles, environment['ProgramFiles(x86)'], environment.LOCALAPPDATA].filter((folder) => folder !== undefined);
    for (const name of ['Chromium/Application/chrome.exe', 'Google/Chrome/Application/chrome.exe', 'Microsoft/Edge/Application/msedge.exe']) {
      paths.push(...folders.map((folder) => join(folder, name)));
    }
    return paths.filter((path) => existsSync(path));
  }
  if (platform === 'darwin') {
    for (const name of ['Chromium', 'Google Chrome', 'Microsoft Edge']) {
      paths.push(...[`${root}/Applications`, `${home}/Applications`].map((folder) => join(folder, `${name}.app/Contents/MacOS/${name}`)));
    }
  }
  const onPath = (environment.PATH ?? '').split(':').filter((folder) => folder !== '');
  const places = [...onPath, ...['/usr/bin', '/usr/local/bin', '/snap/bin'].map((folder) => root + folder)];
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'microsoft-edge', 'microsoft-edge-stable'];
  const headless = ['chromium-headless-shell', 'chrome-headless-shell', 'headless_shell'];
  for (const name of [...names, ...headless]) paths.push(...places.map((folder) => join(folder, name)));
  paths.push(...['/opt/google/chrome/chrome', '/opt/microsoft/msedge/msedge'].map((path) => root + path));
  return [...new Set(paths)].filter((path) => existsSync(path));
}

/** One line, without the colours and the log that Playwright adds. */
function reason(error: unknown): string {
  const lines = error instanceof Error ? error.message.split('\n') : [String(error)];
  return (lines[0] ?? '').replace(/^browserType\.launch: /, '').slice(0, 200);
}

if (import.meta.main) {
  const environment = await handOnBrowser();
  process.exitCode = none in environment ? 1 : 0;
}
