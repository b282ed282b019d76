// Where a school's data comes from, on its pages: packages that are no packages, wrong ones, large losses, and a OneRoster
// provider, which is tried before anything is saved.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { beforeEach, test } from 'node:test';
import { hiddenIn, useOnboarding, zip, type Visitor } from '../../test/onboarding.ts';
import { rootB, useService } from '../../test/service.ts';
import { attendanceCsv, smallPackage, user } from '../../test/small-school.ts';

const largestUpload = 1024 * 1024;
const onboarding = await useOnboarding({}, { largestUpload });
const { db, service, url, arrived, run } = onboarding;
const provider = await useService();
await provider.addSchool('MIS', smallPackage());
const client = await provider.addClient('schoolbell', ['MIS']);
await service.work();
let count = 0;
let estab = '';
let visitor: Visitor;

beforeEach(async () => {
  estab = `U${(count += 1)}`;
  await service.addSchool(estab);
  visitor = await onboarding.signIn(estab);
});

const page = () => visitor.text('/school/source');
const records = async () =>
  (await db<{ count: number }[]>`select count(*)::int as count from roster_user where estab = ${estab} and status = 'active'`)[0]?.count;
const connector = async () =>
  (
    await db<
      { connector: string | null; saved: boolean }[]
    >`select e.connector, s.estab is not null as saved from establishment e left join connector_setting s using (estab) where e.estab = ${estab}`
  )[0];
const collected = (status: string) =>
  arrived(
    `SchoolData is ${status}`,
    async () =>
      (await db`select from component_database where estab = ${estab} and name = 'SchoolData' and status = ${status} and refreshing_since is null`).length ===
      1,
    () => db`select * from component_database where estab = ${estab}`,
  );

async function uploaded(bytes: Uint8Array, status: string): Promise<string> {
  const runs = async () => (await db`select from import_run where estab = ${estab}`).length;
  const before = await runs();
  const response = await visitor.upload(bytes);
  assert.deepEqual([response.status, response.headers.get('location')], [303, '/school/source?done=uploaded']);
  await arrived('the report', async () => (await runs()) > before);
  // With the report its status has changed.
  const [database] = await db`select status from component_database where estab = ${estab} and name = 'SchoolData' and refreshing_since is null`;
  assert.equal(database?.status, status);
  return page();
}

const textFile = (name: string, text: string) => ({ name, size: text.length, open: async () => Readable.from([Buffer.from(text)]) });

const pupils = (number: number) =>
  smallPackage({
    users: [
      ...Array.from({ length: number }, (_, at) => user(`x${at}`, 'student')), user('p1', 'student'), user('p2', 'student'), user('p3', 'student'),
      user('p9', 'student'), user('s1', 'teacher'), user('s2', 'aide'),
    ],
  });

// ---- Packages -----------------------------------------------------------------------------------------------------

test('a package is taken over, set as the source, and the copy on its way is removed', async () => {
  const shown = await uploaded(await zip(smallPackage()), 'OK');
  assert.match(shown, /All records were imported/);
  assert.deepEqual([await records(), (await connector())?.connector], [8, 'csv']);
  await arrived('the copy is removed', async () => (await db`select from upload_piece where estab = ${estab}`).length === 0);
  assert.match(await uploaded(await zip(smallPackage()), 'OK'), /nothing had changed/);
});

test('what is no zip, or half of one, is refused in words a school can act on, and nothing is changed', async () => {
  await service.load(estab, smallPackage());
  const whole = await zip(smallPackage());
  const parts = ['[Content_Types].xml', 'xl/workbook.xml'].map((name) => [name, textFile(name, '<x/>')] as const);
  const workbook = await zip({ files: new Map(parts), close: async () => {} });
  const folder = await zip({ files: new Map([['export/manifest.csv', textFile('export/manifest.csv', '')]]), close: async () => {} });
  const cases: [bytes: Uint8Array, words: RegExp][] = [
    [Buffer.from('this is a letter'), /is a text, not a zip/],
    [Buffer.from('sourcedId,status\r\np1,active\r\n'), /is a single CSV file, not a zip\. Put manifest\.csv and the other CSV files/],
    [Buffer.from('%PDF-1.7 …'), /is a PDF document, not a zip/],
    [randomBytes(200), /is not a zip|is a .* not a zip/],
    [workbook, /is an Office document such as an Excel workbook, not a package/],
    [whole.subarray(0, whole.length / 2), /is not a whole zip: its end is missing/],
    [folder, /at the root of the zip/],
  ];
  for (const [bytes, words] of cases) {
    const shown = await uploaded(bytes, 'OK');
    assert.match(shown, /import was refused and nothing was changed/);
    assert.match(/id="problems"[\s\S]*/.exec(shown)?.[0] ?? '', words);
    assert.doesNotMatch(shown, /    at /);
    assert.equal(await records(), 8);
  }
  assert.equal((await visitor.upload(Buffer.alloc(0))).status, 400);
  await arrived('the copies are removed', async () => (await db`select from upload where estab = ${estab}`).length === 0);
  assert.equal((await db`select from upload where estab = ${estab}`).length, 0);
});

test('a package that cannot be opened leaves no copy on the disk, and where it was is not told', async () => {
  const shown = await uploaded(Buffer.from('this is a letter'), 'Error');
  assert.deepEqual(readdirSync(join(service.dataDir, 'spool')), []);
  assert.ok(!shown.includes(service.dataDir));
  assert.match(shown, /the uploaded package/);
});

test('a package that is larger than is taken is refused as such, and nothing of it is kept', async () => {
  const atMost = await visitor.upload(randomBytes(largestUpload));
  assert.equal(atMost.status, 303);
  await collected('Error');
  const uploads = async () => (await db`select from upload where estab = ${estab}`).length;
  await arrived('the copy is removed', async () => (await uploads()) === 0);
  const more = await visitor.upload(randomBytes(largestUpload + 1));
  assert.equal(more.status, 413);
  assert.match(await more.text(), /larger than 1 MB, which is the most that is taken/);
  assert.deepEqual([await uploads(), readdirSync(join(service.dataDir, 'spool'))], [0, []]);
});

test('a wrong package: each problem with file, line, column and value; nothing is changed, and a right one mends it', async () => {
  const shown = await uploaded(await zip(smallPackage({ users: [user('p1', 'wizard'), user('<b>p2</b>', 'student', { enabledUser: 'perhaps' })] })), 'Error');
  assert.match(shown, /users\.csv[\s\S]*wizard[\s\S]*perhaps/);
  assert.doesNotMatch(shown, /<b>p2/);
  assert.deepEqual([await records(), (await connector())?.connector], [0, null]);
  assert.match(shown, /id="upload"[\s\S]*id="provider"/);
  await uploaded(await zip(smallPackage()), 'OK');
  assert.equal(await records(), 8);
});

test('a large loss is held until the school says that it is right, and only then', async () => {
  await service.load(estab, pupils(60));
  assert.equal((await visitor.post('/school/source/approve', {})).status, 409, 'nothing is held yet');
  const shown = await uploaded(await zip(pupils(10)), 'Paused');
  assert.match(shown, /An import waits for your approval[\s\S]*50 of 64 student users \(78\.1 %\) would be deleted/);
  assert.equal(await records(), 66);
  assert.equal((await visitor.post('/school/source/approve', {})).status, 409, 'what was seen has to be said');
  const seen = hiddenIn(shown);
  assert.equal((await visitor.post('/school/source/approve', seen)).status, 303);
  await collected('OK');
  assert.equal(await records(), 16);
  await arrived('the copy is removed', async () => (await db`select from upload where estab = ${estab}`).length === 0);
  assert.equal((await visitor.post('/school/source/approve', seen)).status, 409, 'it cannot be approved twice');
});

test('a newer package takes the place of one that is held', async () => {
  await service.load(estab, pupils(60));
  await uploaded(await zip(pupils(10)), 'Paused');
  await uploaded(await zip(pupils(61)), 'OK');
  assert.equal(await records(), 67);
  await arrived('the copy is removed', async () => (await db`select from upload where estab = ${estab}`).length === 0);
});

test('an upload that breaks off half-way leaves nothing', async () => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const head =
    `POST /school/source/upload?token=${visitor.token} HTTP/1.1\r\nhost: x\r\ncookie: ${visitor.cookie}\r\n` +
    'content-type: multipart/form-data; boundary=b\r\ncontent-length: 4000000\r\n\r\n' +
    '--b\r\ncontent-disposition: form-data; name="package"; filename="a.zip"\r\n\r\n';
  socket.write(head);
  socket.write(Buffer.alloc(2_000_000, 'x'), () => setTimeout(() => socket.destroy(), 100));
  await new Promise((resolve) => socket.once('close', resolve));
  await arrived(
    'no transaction is left open',
    async () => (await db`select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`).length === 0,
  );
  assert.deepEqual(
    [(await db`select from upload where estab = ${estab}`).length, (await db`select from component_database where estab = ${estab}`).length],
    [0, 0],
  );
});

test('a form without a file, and one that is no upload, are refused with a page', async () => {
  const empty = new FormData();
  empty.append('package', 'not a file');
  const response = await fetch(`${url}/school/source/upload?token=${visitor.token}`, {
    method: 'POST', headers: { cookie: visitor.cookie }, body: empty, redirect: 'manual',
  });
  assert.deepEqual([response.status, response.headers.get('content-type')], [400, 'text/html; charset=utf-8']);
  const plain = await visitor.post(`/school/source/upload?token=${visitor.token}`, {});
  assert.ok([400, 406, 415].includes(plain.status), String(plain.status));
  assert.match(await plain.text(), /<h1>This did not work/);
});

// ---- A provider ---------------------------------------------------------------------------------------------------

const scope = 'https://purl.imsglobal.org/spec/or/v1p1/scope/roster.readonly';
const right = () => ({
  url: `${provider.url}${rootB}`, tokenUrl: '', version: '1.1', scope, clientId: 'schoolbell|MIS', clientSecret: client.schoolSecrets.MIS ?? '',
});

test('a provider that is away, blocked, wrong or given wrong credentials: 422 with words, and nothing is saved', async () => {
  const wrong: [fields: Partial<ReturnType<typeof right>>, words: RegExp][] = [
    [{ clientSecret: 'wrong-secret-value' }, /credential|secret|401/i],
    [{ url: 'http://127.0.0.1:1024/ims/oneroster/v1p1' }, /connect|refused|reach/i],
    [{ url: 'http://10.0.0.1/ims/oneroster/v1p1' }, /not a public address/],
    [{ url: 'http://169.254.169.254/latest' }, /not a public address/],
    [{ tokenUrl: 'http://10.0.0.1/token' }, /not a public address/],
    [{ url: 'file:///etc/passwd' }, /http/],
    [{ url: '' }, /http/],
    [{ clientSecret: '' }, /client secret/],
    [{ scope: '"' }, /scope must be plain text/],
    [{ scope: 'none-of-ours' }, /does not grant it .* asked for: none-of-ours/],
    [{ url: `${provider.url}/school` }, /./],
  ];
  for (const [fields, words] of wrong) {
    const response = await visitor.post('/school/source/provider', { ...right(), ...fields });
    const shown = await response.text();
    assert.equal(response.status, 422, JSON.stringify(fields));
    const problem = /id="problem"[^>]*>([\s\S]*?)<\/div>/.exec(shown)?.[1] ?? '';
    assert.match(problem, /Nothing was saved/);
    assert.match(problem, words, JSON.stringify(fields));
    assert.ok(!shown.includes('wrong-secret-value') && !shown.includes(right().clientSecret), 'the secret is not shown again');
    assert.match(shown, /<option value="1\.1" selected>/, 'what was chosen stays');
    assert.deepEqual({ ...(await connector()) }, { connector: null, saved: false });
  }
});

test('the right one is saved sealed, collected, and a package is then refused', async () => {
  assert.equal((await visitor.post('/school/source/provider', right())).headers.get('location'), '/school/source?done=connected');
  await collected('OK');
  assert.deepEqual([await records(), (await connector())?.connector], [8, 'oneroster']);
  const [row] = await db<
    { settings: object; sealed: Uint8Array }[]
  >`select settings, sealed_credentials as sealed from connector_setting where estab = ${estab}`;
  assert.deepEqual(row?.settings, { url: right().url, version: '1.1', scope });
  assert.ok(!JSON.stringify(row.settings).includes(right().clientSecret) && !Buffer.from(row.sealed).includes(right().clientSecret));
  assert.equal((await visitor.upload(await zip(smallPackage()))).status, 409);
  assert.equal((await db`select from upload where estab = ${estab}`).length, 0);
  assert.equal((await visitor.post('/school/source/provider', { ...right(), clientSecret: 'wrong' })).status, 422);
  const [after] = await db<{ sealed: Uint8Array }[]>`select sealed_credentials as sealed from connector_setting where estab = ${estab}`;
  assert.deepEqual(after?.sealed, row?.sealed, 'a failed test leaves what worked');
  assert.equal((await visitor.post('/school/source/refresh', {})).status, 303);
  await collected('OK');
});

test('a school whose marks could never be read is live with a provider that has none', async () => {
  const folder = mkdtempSync(join(service.dataDir, 'folder-'));
  const faulty = smallPackage({}, { raw: { 'attendance.csv': attendanceCsv('p1,2026-11-12,noon,/,,') } });
  for (const { name, open } of faulty.files.values()) writeFileSync(join(folder, name), await buffer(await open()));
  estab = `${estab}-folder`;
  await run('school add', { estab, name: 'A School', email: `office@${estab}.example`, connector: 'csv', folder });
  visitor = await onboarding.signIn(estab);
  await arrived('the marks are refused', async () => (await db`select from component_database where estab = ${estab} and status = 'Error'`).length === 1);
  await onboarding.addAsking('moving');
  await run('authorise', { rp: 'moving', estab });
  const states = async () => (await onboarding.events(estab)).map(({ state }) => state);
  assert.match(await page(), /id="database-Attendance"/);
  assert.ok(!(await states()).includes('Live'));
  assert.equal((await visitor.post('/school/source/provider', right())).status, 303);
  await collected('OK');
  await arrived('the school is live', async () => (await states()).includes('Live'), states);
  const shown = await page();
  assert.deepEqual([/id="database-SchoolData"/.test(shown), /id="database-Attendance"/.test(shown)], [true, false]);
});

test('the operator sees an upload in the list of schools', async () => {
  await uploaded(await zip(smallPackage()), 'OK');
  const { data } = await run('school list');
  assert.equal((data as { estab: string; connector: string }[]).find((one) => one.estab === estab)?.connector, 'csv');
});
