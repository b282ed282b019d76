// A school's export job, as a job sends: with curl's words and without, right and wrong, slow, twice, and while something is
// held; and what it can read of what became of its package.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { beforeEach, test } from 'node:test';
import { forgetOverAge } from '../../test/all-schools.ts';
import { csvPackage } from '../../test/csv-package.ts';
import { hiddenIn, useOnboarding, zip } from '../../test/onboarding.ts';
import { runCurl } from '../../test/run-curl.ts';
import { rootA, rootB } from '../../test/service.ts';
import { smallPackage, user } from '../../test/small-school.ts';
import { until } from '../../test/until.ts';
import { makeUploadToken } from '../access/upload-tokens.ts';

const largestUpload = 1024 * 1024;
const onboarding = await useOnboarding({}, { largestUpload });
const { db, service, url, run } = onboarding;
await service.work();
let count = 0;
let estab = '';
let token = '';

beforeEach(async () => {
  estab = `J${(count += 1)}`;
  await service.addSchool(estab);
  token = await makeUploadToken(db, estab, 'school');
});

type Body = {
  ImportId: string;
  State: string;
  Submitted: string;
  Finished: string | null;
  Report: Record<string, unknown> & { Problems: Record<string, unknown>[]; Shrinkage: Record<string, unknown>[] };
  Message: string | null;
  ExceptionType: string | null;
  ExceptionMessage: string | null;
};
const at = (school = estab) => `${url}/api/v1/School/${school}/Roster`;
const bearer = (given = token) => ({ authorization: `Bearer ${given}` });
const put = (bytes: Uint8Array, headers: Record<string, string> = bearer(), to = at()) => fetch(to, { method: 'PUT', headers, body: Uint8Array.from(bytes) });
const bodyOf = async (response: Response) => (await response.json()) as Body;
const read = async (id: string) => bodyOf(await fetch(`${at()}/${id}`, { headers: bearer() }));

async function sent(bytes: Uint8Array): Promise<string> {
  const response = await put(bytes);
  const body = await bodyOf(response);
  assert.equal(response.status, 202, JSON.stringify(body));
  assert.equal(response.headers.get('location'), `${at()}/${body.ImportId}`);
  assert.deepEqual(body, { ImportId: body.ImportId, Message: null, ExceptionType: null, ExceptionMessage: null, InnerException: null });
  return body.ImportId;
}

async function ends(id: string): Promise<Body> {
  let body: Body | undefined;
  await until('the import ends', async () => !['Waiting', 'Importing'].includes((body = await read(id)).State), () => body);
  assert.ok(body);
  return body;
}

async function refused(response: Promise<Response>, status: number, words: RegExp): Promise<void> {
  const got = await response;
  const body = await bodyOf(got);
  assert.equal(got.status, status, JSON.stringify(body));
  assert.match(body.ExceptionMessage ?? '', words);
}

const pupils = (number: number) =>
  smallPackage({
    users: [
      ...Array.from({ length: number }, (_, place) => user(`x${place}`, 'student')), user('p1', 'student'), user('p2', 'student'), user('p3', 'student'),
      user('p9', 'student'), user('s1', 'teacher'), user('s2', 'aide'),
    ],
  });
const uploads = async () => (await db`select from upload where estab = ${estab}`).length;
const connector = async () => (await db<{ connector: string | null }[]>`select connector from establishment where estab = ${estab}`)[0]?.connector;

test('a package is taken, imported, set as the source, and its report is there, also when the package is gone', async () => {
  const id = await sent(await zip(smallPackage()));
  const body = await ends(id);
  assert.deepEqual([body.ImportId, body.State, body.Message, body.Report.Rejected, body.Report.ProblemsTotal], [id, 'Done', null, 0, 0]);
  assert.ok(Number(body.Report.Added) > 8 && Date.parse(body.Finished ?? '') >= Date.parse(body.Submitted));
  await until('the copy is removed', async () => (await uploads()) === 0);
  assert.equal(await connector(), 'csv');
  assert.deepEqual(await read(id), body);
  assert.equal((await ends(await sent(await zip(smallPackage())))).State, 'Unchanged');
});

test('words that OneRoster 1.1 does not have are in the report', async () => {
  const orgs = [{ sourcedId: 'o', name: 'N', type: 'ext:campus' }];
  const { State, Report } = await ends(await sent(await zip(csvPackage({ orgs }, { edition: 'v1p2' }))));
  const words = [{ File: 'orgs.csv', Column: 'type', Word: 'ext:campus', Shown: 'ext:campus', Records: 1 }];
  assert.deepEqual([State, Report.Words], ['Done', words]);
});

test('whatever the job says about its bytes, a zip is a zip, and what is none is said so in words', async () => {
  const whole = await zip(smallPackage());
  for (const type of ['application/zip', 'application/octet-stream', 'text/csv', 'application/json', 'nonsense', 'application/x-www-form-urlencoded']) {
    const response = await put(whole, { ...bearer(), 'content-type': type });
    assert.equal(response.status, 202, `${type}: ${await response.text()}`);
  }
  await refused(put(Buffer.from('sourcedId,status\n1,active\n')), 415, /not a zip: .*begins with the letters PK/);
  await refused(put(Buffer.from('P')), 415, /not a zip/);
  await refused(put(Buffer.from('--boundary\r\ncontent-disposition: form-data\r\n\r\nPK')), 415, /curl -T roster\.zip, not curl -F/);
  await refused(put(Buffer.alloc(0)), 400, /body is empty/);
  await refused(fetch(at(), { method: 'PUT', headers: bearer() }), 400, /body is empty/);
  await until('what was taken is imported', async () => (await uploads()) === 0);
});

test('what is wrong comes back with file, line, column, value and rule, and nothing is changed', async () => {
  await ends(await sent(await zip(smallPackage())));
  const { State, Report, Message } = await ends(await sent(await zip(smallPackage({ users: [user('p1', 'wizard')] }))));
  assert.equal(State, 'Refused');
  assert.match(Message ?? '', /^Refused, nothing was changed: \d+ problems?/);
  const problem = Report.Problems.find(({ Value }) => Value === 'wizard');
  assert.deepEqual([problem?.File, problem?.Line, problem?.Column], ['users.csv', 2, 'role']);
  assert.deepEqual(Object.keys(problem ?? {}), ['File', 'Line', 'Column', 'Value', 'Rule']);
  assert.equal(Report.ProblemsTotal, Report.Problems.length);
  const half = (await zip(smallPackage())).subarray(0, 500);
  assert.equal((await ends(await sent(half))).State, 'Refused');
  await until('the copies are removed', async () => (await uploads()) === 0);
});

test('too large is told at once or as it comes, and nothing of it is kept', async () => {
  const large = Buffer.concat([Buffer.from('PK'), randomBytes(largestUpload)]);
  await refused(put(large), 413, /larger than 1 MB/);
  const pieces = new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(large));
      controller.close();
    },
  });
  await refused(fetch(at(), { method: 'PUT', headers: bearer(), body: pieces, duplex: 'half' } as RequestInit), 413, /larger than 1 MB/);
  assert.deepEqual([await uploads(), readdirSync(join(service.dataDir, 'spool'))], [0, []]);
});

test('a large loss is held; the next is not taken until a person has decided, and the answer says how', async () => {
  await service.load(estab, pupils(60));
  const id = await sent(await zip(pupils(10)));
  const held = await ends(id);
  assert.equal(held.State, 'Held');
  assert.match(held.Message ?? '', /50 of 64 student users .*\/school\/source.*import approve --estab \S+ --import [0-9a-f-]{36}/);
  assert.deepEqual(held.Report.Shrinkage, [{ Collection: 'users', Role: 'student', Active: 64, Removed: 50, Percent: 78.1 }]);
  await refused(put(await zip(pupils(60))), 409, /waits for approval.*import approve --estab \S+ --import [0-9a-f-]{36}/);
  assert.equal((await read(id)).State, 'Held');
  const visitor = await onboarding.signIn(estab);
  assert.equal((await visitor.post('/school/source/approve', hiddenIn(await visitor.text('/school/source')))).status, 303);
  assert.equal((await ends(id)).State, 'Done');
  assert.equal((await ends(await sent(await zip(pupils(10))))).State, 'Unchanged');
});

test('a held one that gave way to an upload of a person was replaced', async () => {
  await service.load(estab, pupils(60));
  const id = await sent(await zip(pupils(10)));
  assert.equal((await ends(id)).State, 'Held');
  const visitor = await onboarding.signIn(estab);
  assert.equal((await visitor.upload(await zip(pupils(61)))).status, 303);
  const { State, Message } = await ends(id);
  assert.equal(State, 'Replaced');
  assert.match(Message ?? '', /a newer package took its place/);
});

test('several at once: each is taken, the last one stands, and none is half done', async () => {
  const packages = await Promise.all([61, 62, 63, 64].map(async (number) => zip(pupils(number))));
  const ids = await Promise.all(packages.map((bytes) => sent(bytes)));
  const states = await Promise.all(ids.map(async (id) => (await ends(id)).State));
  assert.ok(states.every((state) => state === 'Done' || state === 'Replaced') && states.includes('Done'), String(states));
  const [last] = await db<{ id: string }[]>`
    select r.id from upload_receipt r join import_run i on i.estab = r.estab and i.id = r.run where r.estab = ${estab} order by i.finished_at desc limit 1`;
  const number = [61, 62, 63, 64][ids.indexOf(last?.id ?? '')] ?? 0;
  const [active] = await db<{ count: number }[]>`select count(*)::int as count from roster_user where estab = ${estab} and status = 'active'`;
  assert.equal(active?.count, number + 6);
  const [database] = await db<{ status: string }[]>`select status from component_database where estab = ${estab} and name = 'SchoolData'`;
  assert.equal(database?.status, 'OK', 'one that was replaced is no failure');
});

test('a worker that died behind the merge changes nothing of what is told', async () => {
  const id = await sent(await zip(smallPackage()));
  const told = await ends(id);
  await until('the copy is removed', async () => (await uploads()) === 0);
  // As if its worker had died before it removed the copy and settled the work.
  await db`insert into upload (estab, id) values (${estab}, ${id})`;
  await db`
    update outbox set state = 'running', settled_at = null, lease_until = now() - interval '1 minute', claim = gen_random_uuid()
    where estab = ${estab} and payload ->> 'upload' = ${id}`;
  await until('the copy is removed again', async () => (await uploads()) === 0);
  assert.deepEqual(await read(id), told);
  assert.equal((await db`select from import_run where estab = ${estab}`).length, 1);
});

// ---- Who may ------------------------------------------------------------------------------------------------------

test('one that no work is left for has failed, and its sender is told to send it again', async () => {
  const [kept] = await db<{ id: string }[]>`insert into upload (estab) values (${estab}) returning id`;
  const id = kept?.id ?? '';
  await db`insert into upload_receipt (estab, id, by_job) values (${estab}, ${id}, true)`;
  const { State, Report, Finished, Message } = await read(id);
  assert.deepEqual([State, Report, Finished], ['Failed', null, null]);
  assert.match(Message ?? '', /nothing was changed\. Send it again/);
  assert.equal((await ends(await sent(await zip(pupils(1))))).State, 'Done');
  assert.equal((await read(id)).State, 'Replaced');
});

test('nothing but the upload token of that school opens it, and it opens nothing else', async () => {
  const whole = await zip(smallPackage());
  await service.addSchool(`${estab}-other`);
  const client = await service.addClient(`app-${estab}`, [estab]);
  const wrong: [headers: Record<string, string>, status: number, words: RegExp][] = [
    [{}, 401, /no Authorization header/],
    [{ authorization: 'Bearer' }, 401, /must be "Bearer" followed/],
    [{ authorization: `Basic ${Buffer.from(`x:${token}`).toString('base64')}` }, 401, /must be "Bearer"/],
    [bearer(await client.tokenB(estab)), 401, /takes a school's upload token \(sb_upload_…\) and no other/],
    [bearer(`sb_upload_${randomBytes(32).toString('base64url')}`), 401, /not known; it may have been replaced or removed/],
    [bearer(token.replace(`${estab}~`, `${estab}-other~`)), 401, /not known/],
    [bearer(token.replace(`${estab}~`, '')), 401, /not known/],
    [bearer(token.replace(`${estab}~`, '!~')), 401, /not known/],
  ];
  for (const [headers, status, words] of wrong) {
    await refused(put(whole, headers), status, words);
    await refused(fetch(`${at()}/${estab}`, { headers }), status, words);
  }
  await refused(put(whole, bearer(), at(`${estab}-other`)), 403, new RegExp(`is for ${estab}, not for ${estab}-other`));
  assert.deepEqual([await uploads(), (await db`select from upload where estab = ${`${estab}-other`}`).length], [0, 0]);
  const elsewhere = [`${rootA}/orgs`, `${rootB}/orgs`, `/api/v1/School/${estab}/Students`, '/api/v1/Databases', '/api/v1/Webhook', '/api/v1/Identity/GetUsers'];
  for (const path of elsewhere) {
    const { status } = await fetch(`${url}${path}`, { headers: bearer() });
    assert.ok(status === 401 || (path.startsWith(rootA) && status === 400), `${path}: ${status}`);
  }
});

test('an import of another school, and one that never was, are the same 404', async () => {
  const id = await sent(await zip(smallPackage()));
  await ends(id);
  const other = `${estab}-other`;
  await service.addSchool(other);
  const its = await makeUploadToken(db, other, 'operator');
  for (const unknown of [id, '00000000-0000-4000-8000-000000000000', 'nonsense'])
    await refused(fetch(`${at(other)}/${unknown}`, { headers: bearer(its) }), 404, /no such import/);
});

test('one that was taken and is not to be seen yet, as where the node of its school was just lost, is told to ask again', async () => {
  const id = await sent(await zip(smallPackage()));
  const ofIt = db`estab = ${estab} and payload ->> 'upload' = ${id}`;
  await until('its work is settled', async () => (await db`select from outbox where ${ofIt} and state = 'done'`).length === 1);
  const look = () => fetch(`${at()}/${id}`, { headers: bearer() });
  await db`delete from upload_receipt where estab = ${estab} and id = ${id}`;
  await refused(look(), 404, /no such import/);
  await db`update outbox set state = 'waiting', settled_at = null, due_at = now() + interval '1 hour' where ${ofIt}`;
  await refused(look(), 503, /Try again in a moment/);
});

test('thirty wrong tries in a minute are enough, and other verbs are told which are right', async () => {
  const guess = () => put(Buffer.from('PK'), bearer(`sb_upload_${randomBytes(32).toString('base64url')}`));
  for (let tries = 0; tries < 30; tries += 1) assert.equal((await guess()).status, 401);
  const more = await guess();
  assert.equal(more.status, 429);
  assert.ok(Number(more.headers.get('retry-after')) > 0);
  for (const [path, method, allow] of [['', 'GET', 'PUT'], ['', 'POST', 'PUT'], ['', 'DELETE', 'PUT'], ['/x', 'PUT', 'GET, HEAD']] as const) {
    const response = await fetch(`${at()}${path}`, { method, headers: bearer() });
    assert.deepEqual([response.status, response.headers.get('allow')], [405, allow], `${method} ${path}`);
  }
});

test('a credential is limited like any other', async () => {
  const limited = await service.join({ RATE_LIMIT_PER_MINUTE: '2' });
  const ask = () => fetch(`${limited.url}/api/v1/School/${estab}/Roster/x`, { headers: bearer() });
  const statuses = [(await ask()).status, (await ask()).status, (await ask()).status];
  assert.ok(statuses.includes(429) || (await ask()).status === 429, String(statuses));
});

test('a school whose data comes from elsewhere takes no package', async () => {
  const folder = mkdtempSync(join(service.dataDir, 'folder-'));
  const elsewhere: [school: string, options: Record<string, string>, words: RegExp][] = [
    [`${estab}-folder`, { connector: 'csv', folder }, /comes through a folder that is watched/],
    [`${estab}-demo`, { connector: 'demo' }, /comes through demo; what is sent here would be undone/],
  ];
  for (const [school, options, words] of elsewhere) {
    await run('school add', { estab: school, name: 'A School', email: `office@${school}.example`, ...options });
    const its = await makeUploadToken(db, school, 'school');
    await refused(put(await zip(smallPackage()), bearer(its), at(school)), 409, words);
    assert.equal((await db`select from upload where estab = ${school}`).length, 0);
  }
});

// ---- The command --------------------------------------------------------------------------------------------------

type Made = { token: string; url: string; curl: string };

test('the command makes a token, prints the line that works, replaces the one before, and takes it away', async () => {
  const before = token;
  const { data, lines } = await run('school upload-token', { estab });
  const made = data as Made;
  assert.match(made.token, new RegExp(`^sb_upload_${estab}~[\\w-]{43}$`));
  assert.ok(lines.includes(made.token) && lines.includes(made.curl));
  const folder = mkdtempSync(join(service.dataDir, 'job-'));
  writeFileSync(join(folder, 'roster.zip'), await zip(smallPackage()));
  const done = await runCurl(made.curl, folder);
  assert.equal(done.status, 202, done.body);
  token = made.token;
  assert.equal((await ends((JSON.parse(done.body) as Body).ImportId)).State, 'Done');
  await refused(put(await zip(smallPackage()), bearer(before)), 401, /replaced or removed/);
  assert.match(made.curl, /--fail-with-body/, 'a refusal ends the job with a failure, and shows why');
  assert.deepEqual((await run('school upload-token', { estab, remove: true })).data, { estab, removed: true });
  await refused(put(await zip(smallPackage())), 401, /replaced or removed/);
  await assert.rejects(run('school upload-token', { estab, remove: true }), /has no upload token/);
  assert.deepEqual(
    await db`select made_by, ended_by, hash from upload_token where estab = ${estab} order by made_at`,
    [{ made_by: 'school', ended_by: 'operator', hash: null }, { made_by: 'operator', ended_by: 'operator', hash: null }],
  );
});

test('a school for which nobody vouches gets no token', async () => {
  await db`update establishment set confirmed_at = null where estab = ${estab}`;
  await assert.rejects(run('school upload-token', { estab }), /vouch for it first: school confirm/);
});

// ---- Bad lines ----------------------------------------------------------------------------------------------------

/** What the server says until the connection ends, and how it ended. */
function talk(write: (socket: ReturnType<typeof connect>) => void): Promise<{ said: string; error: string | undefined }> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    let said = '';
    let error: string | undefined;
    socket.on('data', (data) => (said += data.toString('latin1')));
    socket.on('error', (fault) => (error = fault.message));
    socket.on('close', () => resolve({ said, error }));
    write(socket);
  });
}
const head = (more: string, given = token) => `PUT /api/v1/School/${estab}/Roster HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${given}\r\n${more}\r\n\r\n`;

test('one that is refused while it sends reads why, and the connection ends', async () => {
  const body = Buffer.concat([Buffer.from('no zip'), Buffer.alloc(900_000)]);
  const { said, error } = await talk((socket) => {
    socket.write(head(`content-length: ${body.length}`));
    socket.write(body.subarray(0, 500_000));
    setTimeout(() => socket.write(body.subarray(500_000)), 200);
  });
  assert.match(said, /^HTTP\/1\.1 415 [\s\S]*connection: close[\s\S]*not a zip/i);
  assert.equal(error, undefined);
});

test('one that asks first is told no before it sends, and goes on when it may', async () => {
  const whole = await zip(smallPackage());
  const asking = (given?: string) => head(`content-length: ${whole.length}\r\nexpect: 100-continue\r\nconnection: close`, given);
  const no = await talk((socket) => socket.write(asking('sb_upload_wrong')));
  assert.match(no.said, /^HTTP\/1\.1 401 /);
  const yes = await talk((socket) => {
    socket.write(asking());
    socket.once('data', () => socket.write(whole));
  });
  assert.match(yes.said, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 202 /);
});

test('one that breaks off half-way leaves nothing, and a slow one holds no connection to the database', async () => {
  const used = async () => (await db`select from upload_token where estab = ${estab} and last_used_at is not null`).length === 1;
  const idle = async () =>
    (await db`select from pg_stat_activity where datname = current_database() and application_name like '%changes%' and state <> 'idle'`).length === 0;
  await talk((socket) => {
    socket.write(head('content-length: 4000'));
    socket.write(Buffer.from('PK\x03\x04 and then nothing'));
    void until('it is being taken', used).then(() => until('nothing is held', idle)).finally(() => socket.destroy());
  });
  assert.deepEqual([await uploads(), (await db`select from upload_receipt where estab = ${estab}`).length], [0, 0]);
});

test('what is told of a package ends with the reports', async () => {
  const id = await sent(await zip(smallPackage()));
  await ends(id);
  await db`update upload_receipt set taken_at = now() - interval '91 days' where estab = ${estab}`;
  await forgetOverAge(db, { purgeAfterDays: 90 });
  await refused(fetch(`${at()}/${id}`, { headers: bearer() }), 404, /no such import/);
});
