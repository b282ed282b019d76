// What a school sees of its imports: a refusal and the data that is there in words that agree, faults by rule with all of
// them to download, who would go with what is held, the imports before, and a change of source and back.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { hiddenIn, useOnboarding, zip, type Visitor } from '../../test/onboarding.ts';
import { rootB, useService } from '../../test/service.ts';
import { enrolment, smallPackage, smallSchool, user } from '../../test/small-school.ts';
import { openPage } from '../../test/browser.ts';
import { csvPackage } from '../../test/csv-package.ts';
import { fakeSchool, useFakeProvider } from '../../test/fake-provider.ts';

const onboarding = await useOnboarding();
const { db, service, url, arrived } = onboarding;
const provider = await useService();
await service.work();
let count = 0;
let estab = '';
let visitor: Visitor;

beforeEach(async () => {
  estab = `I${(count += 1)}`;
  await service.addSchool(estab);
  visitor = await onboarding.signIn(estab);
});

const page = () => visitor.text('/school/source');
const many = <T>(number: number, make: (at: number) => T) => Array.from({ length: number }, (_, at) => make(at));
const pupils = (number: number, prefix = 'x') =>
  smallPackage({
    users: [...smallSchool.users, ...many(number, (at) => user(`${prefix}${at}`, 'student', { givenName: 'Pupil', familyName: `${prefix}${at}` }))],
  });
const records = async () =>
  (await db<{ count: number }[]>`select count(*)::int as count from roster_user where estab = ${estab} and status = 'active'`)[0]?.count;
const runs = async () => (await db`select from import_run where estab = ${estab}`).length;
const statusOf = async () =>
  (await db`select status, message, refreshing_since from component_database where estab = ${estab} and name = 'SchoolData'`)[0];
const settled = (what: string, holds: () => Promise<boolean>) =>
  arrived(what, async () => (await statusOf())?.refreshing_since === null && (await holds()), statusOf);

async function uploaded(bytes: Uint8Array): Promise<string> {
  const before = await runs();
  const response = await visitor.upload(bytes);
  assert.equal(response.headers.get('location'), '/school/source?done=uploaded', await response.text());
  await settled('the report', async () => (await runs()) > before);
  return page();
}

/** Two kinds of faults of 14 rows, and 40 rows that refer to one of them. */
const faulty = () =>
  smallPackage({
    users: [
      ...smallSchool.users, ...many(12, (at) => user(`w${at}`, 'wizard')), user('=1+1', 'student', { enabledUser: '=cmd()' }),
      user('plus', 'student', { enabledUser: '+44 1234' }),
    ],
    enrollments: [...smallSchool.enrollments, ...many(40, (at) => enrolment(`y${at}`, 'w3', 'k1'))],
  });

test('a refused import and the data that is there are said in words that agree, on both pages and to applications', async () => {
  await service.load(estab, smallPackage());
  const client = await service.addClient(`agree-${estab}`, [estab]);
  assert.match(await page(), /badge good">Up to date/);
  for (const refuse of [() => service.load(estab, faulty()), async () => uploaded(await zip(faulty()))]) {
    await refuse();
    for (const shown of [await page(), await visitor.text('/school/home')]) {
      assert.doesNotMatch(shown, /Up to date/);
      assert.match(shown, /badge bad">Last import refused/);
      assert.match(shown, /The last import, on [^<]*, was refused and changed nothing\. Applications go on with what was collected on/);
    }
    const { DBStatus } = (await (await client.s(estab, 'Databases')).json()) as { DBStatus: Record<string, string>[] };
    assert.equal(DBStatus[0]?.Status, 'OK', 'what is there is served as before');
    assert.match(DBStatus[0]?.Message ?? '', /^the last import was refused, nothing was changed: 14 problems, the first: users\.csv, line 10, role/);
  }
  const shown = await uploaded(await zip(smallPackage()));
  assert.match(shown, /Up to date/);
  assert.doesNotMatch(shown, /refused and changed nothing/);
  assert.equal((await statusOf())?.message, null);
});

test('a first package that is refused: nothing is there, and that is said', async () => {
  const shown = await uploaded(await zip(faulty()));
  assert.match(shown, /Last import refused[\s\S]*Nothing has been collected yet\./);
  assert.equal((await statusOf())?.status, 'Error');
});

test('the page that says that a package was received says it no more once the package was refused', async () => {
  const after = () => visitor.text('/school/source?done=uploaded');
  await uploaded(await zip(faulty()));
  assert.doesNotMatch(await after(), /id="notice"/);
  await uploaded(await zip(smallPackage()));
  assert.doesNotMatch(await after(), /was received/);
  await db`update component_database set refreshing_since = now() where estab = ${estab}`;
  assert.match(await after(), /id="notice"[^>]*><p>Your package was received/, 'while it is imported');
});

test('faults are shown by rule, and all of them come as a CSV in which nothing is run', async () => {
  const shown = await uploaded(await zip(faulty()));
  assert.match(shown, /<h3>14 problems<\/h3>/);
  const rows = [...shown.matchAll(/<tr role="row">(<td[\s\S]*?)<\/tr>/g)].map(([, row = '']) => row.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ').trim());
  assert.match(rows[0] ?? '', /^must be one of .* And 40 rows that refer to these; that is right again when this is\. users\.csv role 12 line 10: wizard /);
  assert.match(rows[0] ?? '', / and 9 more$/);
  assert.match(rows[1] ?? '', /^must be true or false users\.csv enabledUser 2 line 22: =cmd\(\) line 23: \+44 1234$/);
  const [, link = ''] = /href="([^"]*problems\.csv)"/.exec(shown) ?? [];
  const answer = await visitor.get(link);
  assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'text/csv; charset=utf-8']);
  assert.match(answer.headers.get('content-disposition') ?? '', /^attachment; filename="problems-I\d+-\d{4}-\d\d-\d\d\.csv"$/);
  const bytes = Buffer.from(await answer.arrayBuffer());
  assert.equal(bytes.subarray(0, 3).toString('hex'), 'efbbbf');
  const lines = bytes.subarray(3).toString().split('\r\n');
  assert.deepEqual([lines.length, lines[0]], [16, 'File,Line,Column,Value,What to put right,Rows that refer to it']);
  assert.match(lines[4] ?? '', /^users\.csv,13,role,wizard,"must be one of .*",40$/);
  assert.deepEqual(lines.slice(13, 15), [
    "users.csv,22,enabledUser,'=cmd(),must be true or false,0", "users.csv,23,enabledUser,'+44 1234,must be true or false,0",
  ]);
  const other = await onboarding.signIn((await service.addSchool(`${estab}-other`), `${estab}-other`));
  assert.deepEqual([(await other.get(link)).status, (await other.get(link.replace('/problems.csv', ''))).status], [404, 404]);
  assert.equal((await visitor.get('/school/source/imports/nonsense')).status, 404);
  assert.equal((await fetch(`${url}${link}`, { redirect: 'manual' })).headers.get('location'), '/school', 'not without a session');
});

test('on a phone the report is a list of cards: nothing is wider than the screen', async () => {
  await uploaded(await zip(faulty()));
  const { page: phone, complaints } = await openPage({ width: 390, height: 844 });
  await phone.context().addCookies([{ name: 'schoolbell_school', value: visitor.cookie.split('=')[1] ?? '', url }]);
  for (const path of ['/school/source', `/school/source/imports/${(await db`select id from import_run where estab = ${estab}`)[0]?.id}`]) {
    await phone.goto(`${url}${path}`);
    await phone.waitForSelector('#problems');
    const [width, table] = await phone.evaluate('[document.documentElement.scrollWidth, document.querySelector("#problems").scrollWidth]') as [number, number];
    assert.ok(width <= 390 && table <= 390, `${path}: ${width}, ${table}`);
  }
  assert.deepEqual(complaints, []);
});

// ---- What is held -------------------------------------------------------------------------------------------------

test('what is held names who would go, and approving lets exactly those go', async () => {
  await service.load(estab, pupils(160));
  const shown = await uploaded(await zip(pupils(20)));
  assert.match(shown, /id="held-message"><strong>140 of 164 student users \(85\.4 %\) would be deleted\./);
  assert.match(shown, /<summary>140 students<\/summary>[\s\S]*<bdi>Pupil x100<\/bdi>[\s\S]*and 40 more/);
  assert.doesNotMatch(shown, /<bdi>Pupil x1<\/bdi>/, 'who stays is not named');
  assert.equal((await db`select from import_loss where estab = ${estab} and name is not null`).length, 100, 'no more names are kept than are shown');
  // Somebody imports something else meanwhile: what was seen waits no more.
  await service.load(estab, pupils(161));
  assert.equal((await visitor.post('/school/source/approve', hiddenIn(shown))).status, 409);
  const again = await uploaded(await zip(pupils(20)));
  assert.equal((await visitor.post('/school/source/approve', hiddenIn(shown))).status, 409, 'not the one that was seen');
  assert.equal((await visitor.post('/school/source/approve', hiddenIn(again))).status, 303);
  await settled('it is merged', async () => (await records()) === 28);
  assert.deepEqual((await db`select decision from import_run where estab = ${estab} and outcome = 'held' order by finished_at`).map((row) => row.decision), [
    'replaced', 'approved',
  ]);
  assert.equal((await db`select from import_loss where estab = ${estab}`).length, 0, 'who would have gone is forgotten');
});

test('what is discarded is dropped, and what was there stays, in words too', async () => {
  await service.load(estab, pupils(60));
  const shown = await uploaded(await zip(pupils(5)));
  assert.equal((await visitor.post('/school/source/discard', {})).status, 409);
  assert.equal((await visitor.post('/school/source/discard', hiddenIn(shown))).headers.get('location'), '/school/source?done=discard');
  const left = [...(await db`select from upload where estab = ${estab}`), ...(await db`select from import_loss where estab = ${estab}`)];
  assert.deepEqual([(await statusOf())?.status, left.length], ['OK', 0]);
  const after = await page();
  assert.doesNotMatch(after, /waits for your approval/);
  assert.match(after, /badge off">Discarded/);
  assert.equal(await records(), 68);
  assert.equal((await visitor.post('/school/source/approve', hiddenIn(shown))).status, 409);
});

test('approved at a provider is what was seen: when others would go by then, the school is asked again', async () => {
  const mis = `MIS-${estab}`;
  await provider.addSchool(mis, pupils(100));
  const client = await provider.addClient(`puller-${estab}`, [mis]);
  const link = { url: `${provider.url}${rootB}`, tokenUrl: '', clientId: `puller-${estab}|${mis}`, clientSecret: client.schoolSecrets[mis] ?? '' };
  assert.equal((await visitor.post('/school/source/provider', link)).status, 303);
  await settled('it is collected', async () => (await records()) === 108);
  const collect = async (holds: () => Promise<boolean>) => {
    assert.equal((await visitor.post('/school/source/refresh', {})).status, 303);
    await settled('it is collected again', holds);
    return page();
  };
  const isHeld = (id?: string) => async () =>
    (await db`select from import_run where estab = ${estab} and outcome = 'held' and decision is null and id::text <> ${id ?? ''}`).length === 1;

  await provider.load(mis, pupils(50), { approve: true });
  const seen = hiddenIn(await collect(isHeld()));
  // By the time of the decision others are gone, too.
  await provider.load(mis, pupils(40), { approve: true });
  assert.equal((await visitor.post('/school/source/approve', seen)).status, 303);
  await settled('it is held again', isHeld(seen.import));
  assert.equal(await records(), 108);
  const second = await page();
  assert.match(second, /<summary>60 students<\/summary>/);
  assert.equal((await visitor.post('/school/source/discard', hiddenIn(second))).status, 303);
  // Some of those who were seen are back: that is no more than was approved.
  const third = hiddenIn(await collect(isHeld(seen.import)));
  await provider.load(mis, pupils(45), { approve: true });
  assert.equal((await visitor.post('/school/source/approve', third)).status, 303);
  await settled('it is merged', async () => (await records()) === 53);
});

// ---- What was left aside ------------------------------------------------------------------------------------------

test('the report lists what was ignored', async () => {
  await service.load(estab, smallPackage());
  await service.load(estab, csvPackage({ users: [] }, { mode: 'delta' }));
  assert.match(await page(), /id="ignored"[\s\S]*users\.csv \(no rows\)/);
});

test('the report and the state of the data say that a source does not report leavers', async () => {
  const fake = await useFakeProvider();
  fake.misbehave = (_, reply) => void (reply.total = undefined);
  const link = { url: fake.url, tokenUrl: '', clientId: 'id', clientSecret: 'secret' };
  assert.equal((await visitor.post('/school/source/provider', link)).status, 303);
  await settled('it is read', async () => (await records()) === 30);
  fake.data = { ...fakeSchool(20), enrollments: fakeSchool().enrollments ?? [] };
  assert.equal((await visitor.post('/school/source/refresh', {})).status, 303);
  await settled('it is read again', async () => (await runs()) === 2);
  const shown = await page();
  assert.equal(await records(), 30);
  assert.match(shown, /id="states"[\s\S]*does not report leavers[\s\S]*id="outcome"[\s\S]*does not report leavers/);
  assert.doesNotMatch(shown, /nothing had changed/);
});

// ---- The imports before -------------------------------------------------------------------------------------------

test('the last twenty imports stay to be seen, each with its report', async () => {
  for (let at = 0; at < 20; at += 1) await service.load(estab, pupils(at));
  await service.load(estab, faulty());
  const shown = await uploaded(await zip(pupils(30)));
  const ids = [...shown.matchAll(/href="\/school\/source\/imports\/([\w-]+)"/g)].map(([, id]) => id);
  assert.equal(ids.length, 20);
  const lines = [...(/id="runs"[\s\S]*?<\/table>/.exec(shown)?.[0] ?? '').matchAll(/<tr role="row">(<td[\s\S]*?)<\/tr>/g)];
  const text = (at: number) => (lines[at]?.[1] ?? '').replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ').trim();
  assert.match(text(0), /Upload Imported 11 0 0 0 0$/);
  assert.match(text(1), /By the operator Refused 0 0 0 54 14$/);
  const report = await visitor.text(`/school/source/imports/${ids[1]}`);
  assert.match(report, /<h1>Import of [\s\S]*Refused[\s\S]*14 problems[\s\S]*wizard/);
  assert.match(await visitor.text(`/school/source/imports/${ids[2]}`), /All records were imported/);
});

// ---- A change of source -------------------------------------------------------------------------------------------

test('a school that has uploaded connects a provider, and goes back, guarded both ways', async () => {
  await uploaded(await zip(pupils(60)));
  const mis = `MIS-${estab}`;
  await provider.addSchool(mis, pupils(60, 'other'));
  const client = await provider.addClient(`moving-${estab}`, [mis]);
  const shown = await page();
  assert.match(shown, /Connect a OneRoster provider instead[\s\S]*id="to-provider"[\s\S]*nothing is changed until you have seen who it is[\s\S]*id="provider"/);
  const link = { url: `${provider.url}${rootB}`, tokenUrl: '', clientId: `moving-${estab}|${mis}`, clientSecret: client.schoolSecrets[mis] ?? '' };
  assert.equal((await visitor.post('/school/source/provider', link)).status, 303);
  await settled('the first collection is held', async () => (await statusOf())?.status === 'Paused');
  assert.equal(await records(), 68);
  const held = await page();
  assert.match(held, /<summary>60 students<\/summary>[\s\S]*<bdi>Pupil x0<\/bdi>/);
  assert.equal((await visitor.post('/school/source/approve', hiddenIn(held))).status, 303);
  await settled('the provider is the source', async () => (await statusOf())?.status === 'OK');

  // And back: by a form that says what happens; a package that comes otherwise is refused.
  const back = await page();
  assert.match(back, /Upload packages instead[\s\S]*id="to-upload"[\s\S]*credentials are erased[\s\S]*change=upload/);
  assert.equal((await visitor.upload(await zip(pupils(61)))).status, 409);
  const noZip = await visitor.upload(Buffer.from('a letter'), '&change=upload');
  assert.equal(noZip.status, 400);
  assert.match(await noZip.text(), /the provider stays connected: The package: is a text, not a zip/);
  const connector = async () =>
    (await db`select e.connector, s.sealed_credentials is not null as sealed from establishment e join connector_setting s using (estab)
      where e.estab = ${estab}`)[0];
  assert.deepEqual({ ...(await connector()) }, { connector: 'oneroster', sealed: true });
  const before = await runs();
  assert.equal((await visitor.upload(await zip(pupils(60, 'third')), '&change=upload')).headers.get('location'), '/school/source?done=changed');
  assert.deepEqual({ ...(await connector()) }, { connector: 'csv', sealed: false });
  await settled('the package is held', async () => (await runs()) > before && (await statusOf())?.status === 'Paused');
  assert.match(await page(), /<summary>60 students<\/summary>[\s\S]*<bdi>Pupil other0<\/bdi>/);
  assert.equal(await records(), 68);
});
