// Trying the API in the console: every described operation that takes a token is to be had, it is sent as the application with all that
// holds for its calls, nothing secret is shown, and nobody reaches what is another's by it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useConsole } from '../../../../test/console.ts';
import { smallPackage, smallSchool, user } from '../../../../test/small-school.ts';
import { until } from '../../../../test/until.ts';
import { shownBytes } from './send.ts';

const secrets = { clientId: '', clientSecret: '', managementSecret: '', signingSecret: '', schoolSecret: '' };
const { service, enter } = await useConsole({}, { demo: { ...secrets, rp: 'demo.example', estab: '9990001' } });
const { db, url } = service;
const [school, theirs, demo] = ['3805001', '3805002', '9990001'] as const;
const many = Array.from({ length: 3_000 }, (_, at) => user(`m${at}`, 'student', { givenName: 'Given'.repeat(10) }));
await service.addSchool(school, smallPackage({ users: [...smallSchool.users, ...many] }));
await service.addSchool(theirs, smallPackage());
await service.addSchool(demo, smallPackage());
const client = await service.addClient('own.example', [school]);
await service.addClient('other.example', [theirs]);
await service.addClient('demo.example', [demo, theirs]);
const [admin, viewer] = [await enter('admin'), await enter('viewer')];
const developer = await enter('developer', 'dev@own.example', ['own.example']);
const at = '/console/applications/own.example/try';
const students = { operation: 'variant-b.getAllStudents_B', credential: 'variantBToken', estab: school, 'query-limit': '2' };
const trySend = (fields: Record<string, string>, who = developer) => who.post(`${at}/send`, fields);
const plain = (text: string) => text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));
const part = (text: string, id: string) => plain(new RegExp(`id="${id}"[^>]*>([^]*?)</pre>`).exec(text)?.[1] ?? '');
const problem = (text: string) => plain(/id="problem"[^]*?<\/div>/.exec(text)?.[0] ?? '');
const statusOf = (text: string) => Number(/Answer <span class="badge \w+">(\d+)</.exec(text)?.[1]);

test('each operation that takes a token is there, with a field for each of its parameters', async () => {
  const { text } = await developer.get(at);
  const keys = [...text.matchAll(/<option value="([a-z-]+\.\w+)"/g)].map(([, key = '']) => key);
  assert.ok(keys.length > 80, String(keys.length));
  for (const one of ['variant-a.getAllUsers_A', 'variant-b.getClassesForStudent_B', 'school-data.getOwnStudents', 'school-data.writeAttendance',
    'school-data.createLogin', 'school-data.registerWebhook', 'management.listDeliveries', 'management.listSchools']) assert.ok(keys.includes(one), one);
  for (const one of keys.filter((key) => /getToken|upload|Upload|Health|getKeys/.test(key))) assert.match(one, /getOwnTokenDetails|getTokenDetails/, one);
  for (const key of keys) {
    const page = await developer.get(`${at}?operation=${key}`);
    assert.equal(page.status, 200, key);
    assert.match(page.text, /<form method="post" action="\/console\/applications\/own\.example\/try\/send#answer"/, key);
  }
  const one = await developer.get(`${at}?operation=variant-b.getStudent_B`);
  assert.match(one.text, /id="path-sourcedId" name="path-sourcedId"[^]*id="query-fields"/);
  assert.match((await developer.get(`${at}?operation=school-data.writeAttendance`)).text, /This is no dry run[^]*<textarea id="body"/);
  assert.match((await developer.get(`${at}?operation=school-data.listWebhooks`)).text, /With url this is no dry run/, 'with a URL it registers one');
  assert.match((await developer.get(`${at}?operation=school-data.getOwnStudents`)).text, /With callbackUrl this is no dry run/);
  assert.doesNotMatch((await developer.get(`${at}?operation=variant-b.getStudent_B`)).text, /dry run/);
});

test('who has no webhook yet is led to where one is registered', async () => {
  const { text } = await developer.get('/console/applications/own.example/webhooks');
  const [, to = ''] = /href="([^"]+)">Register one</.exec(text) ?? [];
  assert.doesNotMatch((await viewer.get('/console/applications/own.example/webhooks')).text, /Register one/);
  assert.match((await developer.get(plain(to))).text, /<h3>Register for database events<\/h3>[^]*<textarea id="body"/);
});

test('a request is the application’s own: its answer is shown, counted, recorded and in the trail, and nothing secret with it', async () => {
  await db`truncate audit_event`;
  const { status, text } = await trySend(students);
  assert.deepEqual([status, statusOf(text)], [200, 200]);
  const body = JSON.parse(part(text, 'answered')) as { users: { sourcedId: string }[] };
  assert.equal(body.users.length, 2);
  assert.match(text, /x-total-count: \d+/i);
  assert.match(part(text, 'curl'), /curl [^]*SCHOOL_SECRET[^]*limit=2/);
  assert.match(part(text, 'typescript'), /SCHOOL_SECRET/);
  assert.match(part(text, 'python'), /SCHOOL_SECRET/);
  assert.match(text, /id="query-limit" name="query-limit" value="2"/, 'what was filled in is still there');
  assert.doesNotMatch(plain(text), /eyJ[\w-]+\.|sb_(?:school|client|mgmt)_\w{8}|whsec_\w{8}|set-cookie|schoolbell_console=/i);
  const lines = await db`select actor, via, action, rp, estab, detail, outcome from audit_event`;
  assert.deepEqual(lines.map((line) => ({ ...line })), [{
    actor: 'dev@own.example', via: 'console', action: 'try operation', rp: 'own.example', estab: school, outcome: 'done',
    detail: { operation: students.operation, token: 'variantBToken' },
  }]);
  await service.lines.write();
  const asked = await db`select rp, estab, status from request_line where path like '%/students'`;
  assert.deepEqual(asked.map((line) => ({ ...line })), [{ rp: 'own.example', estab: school, status: 200 }]);
  await until('the ledger has it', async () => (await db`select from disclosure where rp = 'own.example' and estab = ${school}`).length > 0);
});

test('each kind of token, reading and writing', async () => {
  for (const [fields, found] of [
    [{ operation: 'variant-a.getAllOrgs_A', credential: 'variantAToken', 'query-limit': '5' }, /"orgs"/],
    [{ operation: 'school-data.getOwnStudents', credential: 'schoolToken', estab: school, 'query-pageSize': '1' }, /"Student/],
    [{ operation: 'school-data.getStudents', credential: 'schoolToken', estab: school, 'path-estab': '', 'query-pageSize': '1' }, /"Student/],
    [{ operation: 'management.listSchools', credential: 'managementToken' }, new RegExp(school)],
    [{ operation: 'management.listDeliveries', credential: 'managementToken', estab: school }, /"Deliver/],
    [{ operation: 'management.listDeliveries', credential: 'schoolToken', estab: school }, /"Deliver/],
  ] as [Record<string, string>, RegExp][]) {
    const { text } = await trySend(fields);
    assert.equal(statusOf(text), 200, `${fields.operation} ${problem(text)} ${part(text, 'answered')}`);
    assert.match(part(text, 'answered'), found, fields.operation);
  }
  const told = await db<{ estab: string | null }[]>`
    select estab from audit_event where action = 'try operation' and detail ->> 'operation' = 'management.listDeliveries' order by number`;
  assert.deepEqual(told.map(({ estab }) => estab), [null, school], 'a token of the application itself is of no school');
  const body = JSON.stringify({ url: 'https://own.example/hook', DatabaseName: 'SchoolData' });
  const made = await trySend({ operation: 'school-data.registerWebhook', credential: 'schoolToken', estab: school, body });
  assert.equal(statusOf(made.text), 201, part(made.text, 'answered'));
  const [webhook] = await db<{ id: string }[]>`select id from webhook where rp = 'own.example'`;
  const gone = await trySend({ operation: 'school-data.removeWebhook', credential: 'schoolToken', estab: school, 'path-id': webhook?.id ?? '' });
  assert.equal(statusOf(gone.text), 200);
  assert.equal((await db`select from webhook where rp = 'own.example'`).length, 0);
  const refused = await trySend({ ...students, 'query-filter': "nonsense='1'" });
  assert.equal(statusOf(refused.text), 400, 'what the API refuses is an answer too');
  const picture = await trySend({ operation: 'school-data.generateQRCode', credential: 'managementToken', 'query-text': 'x' });
  assert.match(part(picture.text, 'answered'), /bytes that are no text|svg|"/);
});

test('who may not send, and what cannot be sent', async () => {
  const seen = await viewer.get(`${at}?operation=${students.operation}`);
  assert.doesNotMatch(seen.text, /try\/send/);
  assert.equal((await trySend(students, viewer)).status, 403);
  for (const [fields, status, words] of [
    [{ ...students, estab: theirs }, 409, /the school 3805002 does not authorise the application/],
    [{ ...students, estab: 'none' }, 409, /does not authorise/],
    [{ ...students, estab: '' }, 400, /School: choose one/],
    [{ ...students, credential: 'managementToken' }, 400, /Token: choose one/],
    [{ ...students, credential: 'schoolToken' }, 400, /Token: choose one/],
    [{ ...students, credential: '' }, 400, /Token: choose one/],
    [{ ...students, operation: 'variant-b.getToken_B' }, 400, /Operation: choose one/],
    [{ ...students, operation: '/console/schools' }, 400, /Operation: choose one/],
    [{ operation: 'variant-b.getStudent_B', credential: 'variantBToken', estab: school, 'path-sourcedId': '..' }, 400, /would lead to another address/],
    [{ operation: 'variant-b.getStudent_B', credential: 'variantBToken', estab: school, 'path-sourcedId': '.' }, 400, /would lead to another address/],
    [{ operation: 'variant-b.getStudent_B', credential: 'variantBToken', estab: school }, 400, /fill it in/],
    [{ operation: 'school-data.registerWebhook', credential: 'schoolToken', estab: school, body: '{' }, 400, /Body: this is no JSON/],
    [{ operation: 'school-data.writeAttendance', credential: 'schoolToken', estab: school, 'header-idempotency-key': 'a\r\nb: c' }, 400, /printable ASCII/],
  ] as [Record<string, string>, number, RegExp][]) {
    const answer = await trySend(fields);
    assert.equal(answer.status, status, `${JSON.stringify(fields)} ${problem(answer.text)}`);
    assert.match(problem(answer.text), words, JSON.stringify(fields));
  }
  for (const id of ['../../../../console/schools', '../users', '%2e%2e', 'a/b', '?x=1', '#', 'a\\..\\b', '…']) {
    const { text } = await trySend({ operation: 'variant-b.getStudent_B', credential: 'variantBToken', estab: school, 'path-sourcedId': id });
    assert.equal(statusOf(text), 404, id);
    assert.match(part(text, 'answered'), /imsx_/, `${id}: an answer of that operation`);
  }
  const other = await trySend({ operation: 'school-data.getStudents', credential: 'schoolToken', estab: school, 'path-estab': theirs });
  assert.ok([403, 404].includes(statusOf(other.text)), 'the token is of another school');
  assert.equal((await developer.post('/console/applications/other.example/try/send', { ...students, estab: theirs })).status, 404);
  assert.equal((await admin.post('/console/applications/other.example/try/send', { ...students, estab: theirs })).status, 200);
  assert.equal((await admin.post('/console/applications/other.example/try/send', students)).status, 409, 'an admin has no token of it there either');
});

test('while the school has paused it there is none, and once its secret has ended neither', async () => {
  await db`update authorisation set state = 'Paused' where rp = 'own.example'`;
  assert.equal((await trySend(students)).status, 409);
  await db`update authorisation set state = 'Approved' where rp = 'own.example'`;
  assert.equal((await trySend(students)).status, 200);
  await db`update school_secret set valid_until = now() - interval '1 hour' where rp = 'own.example'`;
  assert.equal((await trySend(students)).status, 409);
  await db`update school_secret set valid_until = null where rp = 'own.example'`;
});

test('of a long answer the beginning is shown, and no more is read', async () => {
  for (const fields of [
    { ...students, 'query-limit': '100000' },
    { operation: 'school-data.getOwnStudents', credential: 'schoolToken', estab: school },
  ]) {
    const { status, text } = await trySend(fields);
    assert.deepEqual([status, statusOf(text)], [200, 200], fields.operation);
    assert.match(text, /the first 65,536 bytes of/);
    assert.ok(part(text, 'answered').length <= shownBytes, 'and not more');
  }
  assert.equal((await client.b(school, '/students?limit=1')).status, 200, 'and the service goes on');
});

test('the demo’s tokens read its own school and nothing else', async () => {
  const { text } = await trySend({ ...students, credential: 'demo variantBToken', estab: theirs });
  assert.equal(statusOf(text), 200);
  const [line] = await db`select estab, rp from audit_event where action = 'try operation' order by number desc limit 1`;
  assert.deepEqual({ ...line }, { estab: demo, rp: 'own.example' });
  for (const fields of [
    { operation: 'variant-a.getAllOrgs_A', credential: 'demo variantAToken' },
    { operation: 'management.listSchools', credential: 'demo managementToken' },
    { operation: 'school-data.registerWebhook', credential: 'demo schoolToken', body: '{"url":"https://own.example/","DatabaseName":"SchoolData"}' },
    { operation: 'school-data.listWebhooks', credential: 'demo schoolToken', 'query-url': 'https://own.example/', 'query-DatabaseName': 'SchoolData' },
    { operation: 'school-data.getOwnStudents', credential: 'demo schoolToken', 'query-callbackUrl': 'https://own.example/' },
  ] as Record<string, string>[]) assert.equal((await trySend(fields)).status, 400, JSON.stringify(fields));
  assert.doesNotMatch((await developer.get(`${at}?operation=variant-a.getAllOrgs_A`)).text, /value="demo /);
  assert.equal((await db`select from webhook where rp = 'demo.example'`).length, 0);
});

test('what is tried counts against the limit of the application', async () => {
  const limited = await service.join({ RATE_LIMIT_PER_MINUTE: '3' });
  const send = () => fetch(`${limited.url}${at}/send`, {
    method: 'POST', headers: { cookie: developer.cookie, accept: 'text/html' }, body: new URLSearchParams({ token: developer.token, ...students }),
  });
  await until('there are no more', async () => statusOf(await (await send()).text()) === 429);
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
});
