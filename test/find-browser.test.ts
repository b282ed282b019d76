// Covers which browser the tests take: the order on each kind of machine, that one which does not start is passed over, and what is said when there is none.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { findBrowser, startBrowser, type Machine } from './find-browser.ts';
import { downloadBrowser, unpackBrowser } from './get-browser.ts';

const home = mkdtempSync(join(tmpdir(), 'schoolbell-browser-'));
after(() => rmSync(home, { recursive: true, force: true }));
const run = promisify(execFile);

/** A machine whose programs are scripts: those named end well when they are started, the broken ones do not. */
function machineWith(programs: readonly string[], more: Partial<Machine> = {}, broken: readonly string[] = []): Machine {
  const root = mkdtempSync(join(home, 'machine-'));
  for (const program of [...programs, ...broken, '/package', '/download']) {
    mkdirSync(dirname(join(root, program)), { recursive: true });
    writeFileSync(join(root, program), `#!/bin/sh\nexit ${broken.includes(program) ? 1 : 0}\n`, { mode: 0o755 });
  }
  const environment = Object.fromEntries(Object.entries(more.environment ?? {}).map(([name, value]) => [name, value?.replaceAll('ROOT', root)]));
  const got = (program: string) => async () => join(root, program);
  return { platform: 'linux', architecture: 'x64', home: join(root, 'home'), root, unpack: got('package'), download: got('download'), ...more, environment };
}

const start = (path: string) => run(path, ['--version']);
const found = async (machine: Machine) => (await findBrowser(start, machine)).path.replace(machine.root, '');
const arm = { architecture: 'arm64' };
const mac = { platform: 'darwin', architecture: 'arm64' };
const windows = { platform: 'win32', environment: { ProgramFiles: 'ROOT/Program Files', LOCALAPPDATA: 'ROOT/Local' } };
const edge = '/Program Files/Microsoft/Edge/Application/msedge.exe';
const ownChrome = '/Local/Google/Chrome/Application/chrome.exe';
const ofMac = (name: string) => `/Applications/${name}.app/Contents/MacOS/${name}`;

const machines: readonly [what: string, machine: Machine, expected: string][] = [
  ['CHROMIUM_PATH before all others', machineWith(['/mine', '/usr/bin/chromium'], { environment: { CHROMIUM_PATH: 'ROOT/mine' } }), '/mine'],
  ['an empty CHROMIUM_PATH is none', machineWith(['/usr/bin/chromium'], { environment: { CHROMIUM_PATH: '' } }), '/usr/bin/chromium'],
  ['one that is installed before the package', machineWith(['/usr/bin/google-chrome']), '/usr/bin/google-chrome'],
  ['Chromium before Chrome before Edge', machineWith(['/usr/bin/microsoft-edge', '/usr/bin/google-chrome', '/snap/bin/chromium']), '/snap/bin/chromium'],
  ['one on PATH', machineWith(['/own/bin/chromium-browser'], { environment: { PATH: 'ROOT/other:ROOT/own/bin' } }), '/own/bin/chromium-browser'],
  ['a headless shell', machineWith(['/usr/bin/chromium-headless-shell']), '/usr/bin/chromium-headless-shell'],
  ['Edge at its own place', machineWith(['/opt/microsoft/msedge/msedge'], arm), '/opt/microsoft/msedge/msedge'],
  ['x86-64 without a browser: the package', machineWith([]), '/package'],
  ['64-bit ARM with a browser', machineWith(['/usr/bin/chromium'], arm), '/usr/bin/chromium'],
  ['64-bit ARM without a browser: the download', machineWith([], arm), '/download'],
  ['the package does not unpack: the download', machineWith([], { unpack: () => Promise.reject(new Error('no space left')) }), '/download'],
  ['the package does not start: the download', machineWith([], {}, ['/package']), '/download'],
  ['a Mac', machineWith([ofMac('Microsoft Edge'), ofMac('Google Chrome')], mac), ofMac('Google Chrome')],
  ['a Mac, for one user', machineWith([`/home${ofMac('Chromium')}`], mac), `/home${ofMac('Chromium')}`],
  ['a Mac without a browser', machineWith([], mac), '/download'],
  ['Windows', machineWith([edge], windows), edge],
  ['Windows, for one user', machineWith([edge, ownChrome], windows), ownChrome],
  ['Windows without a browser', machineWith([], windows), '/download'],
];
for (const [what, machine, expected] of machines) test(`browser: ${what}`, async () => assert.equal(await found(machine), expected));

test('a browser that does not start is passed over, with its name and the reason', async () => {
  const machine = machineWith(['/usr/bin/google-chrome'], { environment: { CHROMIUM_PATH: '/nowhere' } }, ['/usr/bin/chromium']);
  const { path, passedOver } = await findBrowser(start, machine);
  assert.equal(path, join(machine.root, '/usr/bin/google-chrome'));
  assert.deepEqual(passedOver.map((one) => one.split(': ')[0]), ['CHROMIUM_PATH /nowhere', join(machine.root, '/usr/bin/chromium')]);
  assert.match(passedOver[0] ?? '', /ENOENT/);
});

test('no browser: one line that says how to get one, and what was tried', async () => {
  const download = () => Promise.reject(new Error('it took too long\nand more'));
  const machine = machineWith([], { ...arm, environment: { CHROMIUM_PATH: '/nowhere' }, download });
  await assert.rejects(findBrowser(start, machine), ({ message }: Error) => {
    assert.match(message, /^no browser starts: set CHROMIUM_PATH to .* or install Chromium \(tried .*\)$/);
    assert.match(message, /CHROMIUM_PATH \/nowhere: .*; playwright-core install .*: it took too long/);
    return true;
  });
});

test('what the run has not found is not looked for again', async () => {
  const machine = machineWith(['/usr/bin/chromium'], { environment: { SCHOOLBELL_NO_BROWSER: 'none, as was said' } });
  await assert.rejects(findBrowser(start, machine), { message: 'none, as was said' });
});

test('a program that is no browser does not start', async () => {
  const machine = machineWith(['/usr/bin/chromium']);
  await assert.rejects(startBrowser(join(machine.root, '/usr/bin/chromium')), /browserType\.launch/);
});

test('the package is unpacked whole, to a folder that is given, also by two at once', { skip: process.platform !== 'linux' }, async () => {
  const unpacked = join(home, 'cache/chromium-0/chromium');
  const shared = join(home, 'shared');
  mkdirSync(shared);
  writeFileSync(join(shared, 'chromium'), 'of another user');
  const environment = { TMPDIR: shared };
  assert.deepEqual(await Promise.all([unpackBrowser(environment, unpacked), unpackBrowser(environment, unpacked)]), [unpacked, unpacked]);
  assert.ok(existsSync(join(dirname(unpacked), 'libGLESv2.so')));
  assert.deepEqual([readdirSync(join(home, 'cache')), readdirSync(shared)], [['chromium-0'], ['chromium']]);
});

test('a download that does not end is given up, with the process that it started', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  after(() => silent.close());
  await once(silent, 'listening');
  const host = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const environment = { HOME: home, PLAYWRIGHT_BROWSERS_PATH: join(home, 'playwright'), PLAYWRIGHT_DOWNLOAD_HOST: host };
  const limit = new AbortController();
  const refused = assert.rejects(downloadBrowser(environment, limit.signal), /took too long/);
  const [asking] = (await once(silent, 'connection')) as [Socket];
  const gone = once(asking.resume().on('error', () => {}), 'close');
  limit.abort();
  await refused;
  await gone;
});
