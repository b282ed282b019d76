// In charge of the pictures of the console and the reference in the README and the guides: the demo is started in a folder of its own, gets a few things that
// are worth looking at, by commands and through the API as anybody would, and its main pages are photographed.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import sharp from 'sharp';
import { findBrowser, startBrowser } from '../test/find-browser.ts';
import { freePort } from '../test/free-port.ts';
import { until } from '../test/until.ts';

const root = join(import.meta.dirname, '..');
const into = join(root, 'docs/screenshots');
const sample = join(root, 'samples/hill-top-school');
const folder = mkdtempSync(join(tmpdir(), 'schoolbell-screenshots-'));
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const env = { ...process.env, DATA_DIR: join(folder, 'data'), PORT: String(port), OUTBOUND_ALLOW: '127.0.0.0/8' };
const [hillTop, millLane, reader] = ['3281102', '3281103', 'reader.example'] as const;
/** Bytes of a picture, so that the page which shows them stays quick. */
const largest = 150_000;

async function startService(): Promise<ChildProcess> {
  const service = spawn(process.execPath, [join(root, 'src/main.ts')], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  service.stdout.setEncoding('utf8').on('data', (piece: string) => (said += piece));
  await until('the service answers', async () => said.includes('schoolbell ready'), () => said, 180);
  return service;
}

/** What a command prints with --json; one that is held back ends with another code and says so all the same. */
function run<T>(...args: string[]): T | undefined {
  try {
    return JSON.parse(execFileSync(process.execPath, [join(root, 'src/cli.ts'), ...args, '--json'], { cwd: root, env, encoding: 'utf8', stdio: 'pipe' })) as T;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    if (args[0] !== 'import') throw new Error(`${args.join(' ')}: ${stdout}${stderr}`, { cause: error });
    return undefined;
  }
}

/** The sample with one of its files changed. */
function changed(name: string, file: string, change: (text: string) => string): string {
  const to = join(folder, name);
  cpSync(sample, to, { recursive: true });
  writeFileSync(join(to, file), change(readFileSync(join(sample, file), 'utf8')));
  return to;
}

async function ask<T>(path: string, init: RequestInit): Promise<T> {
  const answer = await fetch(`${url}${path}`, init);
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

const json = { 'content-type': 'application/json' };

/** A receiver whose server is overloaded, and an application that asks for this and that. */
async function addApplication(): Promise<void> {
  const receiver = createServer((_, response) => void response.writeHead(503, { 'content-type': 'application/json' }).end('{"error": "try again later"}'));
  await once(receiver.listen(0, '127.0.0.1').unref(), 'listening');
  const origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  run('application', 'add', '--rp', reader, '--name', 'Reader', '--callback-url', `${origin}/events`, '--scopes', 'School,Student,Staff:optional',
    '--website', 'https://reader.example/', '--privacy-notice', 'https://reader.example/privacy', '--contact', 'help@reader.example');
  const secret = run<{ schoolSecret: string }>('authorise', '--rp', reader, '--estab', hillTop, '--scopes', 'School,Student,Staff')?.schoolSecret ?? '';
  const body = JSON.stringify({ estab: hillTop, relyingParty: reader, password: secret });
  const { token } = await ask<{ token: string }>('/api/oauth/GetToken', { method: 'POST', headers: json, body });
  await ask('/api/v1/Webhook', {
    method: 'POST', headers: { ...json, authorization: `Idaas ${token}` }, body: JSON.stringify({ url: `${origin}/changed`, DatabaseName: 'SchoolData' }),
  });
  const basic = Buffer.from(`${reader}|${hillTop}:${secret}`).toString('base64');
  const granted = await ask<{ access_token: string }>('/ims/oneroster/v1p1/auth/token', { method: 'POST', headers: { authorization: `Basic ${basic}` } });
  for (let at = 0; at < 60; at += 1)
    for (const path of ['students', 'classes?limit=20', at % 9 === 0 ? 'users/nobody' : 'enrollments'])
      await (await fetch(`${url}/ims/oneroster/v1p1/${path}`, { headers: { authorization: `Bearer ${granted.access_token}` } })).text();
}

function addSchools(): void {
  run('school', 'add', '--estab', hillTop, '--name', 'Hill Top School', '--email', 'office@hilltop.example');
  run('import', '--estab', hillTop, sample);
  run('school', 'add', '--estab', millLane, '--name', 'Mill Lane School', '--email', 'office@milllane.example');
  run('import', '--estab', millLane, sample);
  run('import', '--estab', millLane, changed('truncated', 'enrollments.csv', (text) => text.split('\n').slice(0, 60).join('\n')));
}

/** As much of it as says what the page is for: so high, or down to the end of a part of it. */
async function photograph(page: Page, name: string, to: number | Locator): Promise<void> {
  await page.setViewportSize({ width: 1280, height: typeof to === 'number' ? to : 860 });
  const box = typeof to === 'number' ? undefined : await to.boundingBox();
  if (box) await page.setViewportSize({ width: 1280, height: Math.ceil(box.y + box.height) + 16 });
  const picture = await sharp(await page.screenshot()).png({ palette: true, quality: 85, effort: 10 }).toBuffer();
  if (picture.length > largest) throw new Error(`${name}.png has ${picture.length} bytes`);
  writeFileSync(join(into, `${name}.png`), picture);
  console.log(`docs/screenshots/${name}.png: ${picture.length} bytes`);
}

async function takePictures(browser: Browser): Promise<void> {
  const page = await browser.newPage();
  await page.goto(url);
  await page.getByRole('button', { name: 'Open the console' }).click();
  await page.waitForURL(/\/console$/);
  await page.goto(`${url}/console/deliveries?rp=${reader}&kind=database`);
  await page.getByRole('link', { name: 'Database event' }).first().click();
  await page.locator('#attempt-1').waitFor();
  await page.getByRole('button', { name: 'Replay it now' }).click();
  await page.locator('#attempt-2').waitFor();
  await page.goto(page.url().replace(/\?.*/, ''));
  await photograph(page, 'delivery', 1200);
  await page.goto(`${url}/console/schools/${hillTop}/roster/users/p-001?view=application&rp=${reader}`);
  await photograph(page, 'record', page.locator('section.card').filter({ hasText: 'Hidden by scope' }).first());
  const others = [['school', `/schools/${hillTop}`], ['application', `/applications/${reader}`]] as const;
  for (const [name, path] of others) {
    await page.goto(`${url}/console${path}`);
    await photograph(page, name, 1000);
  }
  await page.goto(`${url}/console/applications/${reader}/try?operation=variant-b.getAllTeachers_B`);
  await page.getByLabel('filter').fill("familyName~'o'");
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('#answer').waitFor();
  await photograph(page, 'try-it', 860);
  await page.goto(`${url}/docs`);
  await photograph(page, 'reference', 860);
  await page.goto(`${url}/console`);
  // The charts of requests; little was delivered in a demo that is a minute old.
  const overview = page.locator('.charts > .card').nth(1);
  await photograph(page, 'overview', overview);
  await page.emulateMedia({ colorScheme: 'dark' });
  await photograph(page, 'overview-dark', overview);
}

mkdirSync(into, { recursive: true });
const { started: browser } = await findBrowser(startBrowser);
const service = await startService();
try {
  addSchools();
  await addApplication();
  run('import', '--estab', hillTop, changed('newer', 'users.csv', (text) => text.replace('Chiamaka', 'Chi')));
  await takePictures(browser);
} finally {
  await browser.close();
  service.kill('SIGTERM');
  await once(service, 'exit');
  rmSync(folder, { recursive: true, force: true });
}
