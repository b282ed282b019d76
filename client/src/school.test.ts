// Covers what the client does at a school and for the application itself, against the service with its worker: data endpoints,
// waiting for data with a real callback, marks and their outcomes, registrations, deliveries, identity, invitations.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { endpoints } from '../../src/schooldata/catalogue.ts';
import { rowType } from '../../test/client-types.ts';
import { useReceiver } from '../../test/delivery.ts';
import { withOffice } from '../../test/identity.ts';
import { scanText } from '../../test/scan-code.ts';
import { attendanceCsv, smallPackage } from '../../test/small-school.ts';
import { until } from '../../test/until.ts';
import { date, now, student, useWriteback } from '../../test/writeback.ts';
import { createCallbacks, createClient, InvalidMarks, SchoolbellError, VersionGone, type ClientOptions, type Delivery, type Mark } from './index.ts';
import { nodeHandler, type WebhookEvent } from './webhooks.ts';

const { service, db, addSchool } = await useWriteback();
const marks = attendanceCsv(`p1,${date},AM,L,7,Bus`, `p2,${date},AM,/,,`, `p1,${date},PM,\\,,`);
await service.addSchool('S1', smallPackage({}, { raw: { 'attendance.csv': marks } }));
await service.addSchool('S2', withOffice());
const application = await service.addClient('app', ['S1', 'S2']);
/** Of a client: more than any of these needs, so that a walk without end fails. */
const mostCalls = 1_000;
function open({ fetch: fetching = fetch, ...more }: Partial<ClientOptions> = {}) {
  let calls = 0;
  const counted = (address: string, init: RequestInit) => {
    calls += 1;
    if (calls > mostCalls) throw new Error('it calls without end');
    return fetching(address, init);
  };
  return createClient({ url: service.url, rp: 'app', now: () => Date.parse(now), fetch: counted, ...more });
}
const at = (estab: string, more?: Partial<ClientOptions>) => open(more).school({ estab, secret: application.schoolSecrets[estab] ?? '' });
const school = at('S1');
const management = open().management({ secret: application.managementSecret });

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const row of rows) found.push(row);
  return found;
}

const refusal = (code: string, status: number) => (error: unknown) => {
  assert.ok(error instanceof SchoolbellError, String(error));
  assert.deepEqual([error.code, error.status, typeof error.requestId], [code, status, 'string'], error.message);
  return true;
};

/** Whether a value is of a type, as that is written in the client. */
function isOf(type: string, value: unknown): boolean {
  return type.split(' | ').some((one) => {
    if (one.startsWith("'")) return value === one.slice(1, -1);
    if (one === 'null') return value === null;
    return one === 'string[]' ? Array.isArray(value) && value.every((item) => typeof item === 'string') : typeof value === one;
  });
}

test('every data endpoint gives rows of exactly its type', async () => {
  const params = { AttendanceForDate: { date }, AttendanceForDateRange: { dateFrom: date, dateTo: date } };
  for (const { name, fields } of endpoints) {
    const rows = await all(school.data(name as 'Students', (params as Record<string, object>)[name] ?? {}));
    assert.ok(rows.length > 0, name);
    for (const row of rows) {
      assert.deepEqual(Object.keys(row), [...fields], name);
      for (const [field, value] of Object.entries(row)) assert.ok(isOf(rowType(name, field), value), `${name}.${field} is ${JSON.stringify(value)}`);
    }
  }
});

test('rows in pages, narrowed, selected, one by one, and what has gone', async () => {
  const [first] = await all(school.dataPages('Students', { pageSize: 2 }));
  assert.deepEqual([first?.rows.length, first?.total, first?.deleted, first?.databases.map((one) => one.Status)], [2, 4, undefined, ['OK']]);
  assert.deepEqual((await all(school.data('Students', { pageSize: 3 }))).map(({ Id }) => Id), ['p1', 'p2', 'p3', 'p9']);
  assert.deepEqual(await all(school.data('Students', { yearGroup: '7', select: ['Id', 'YearGroup'] })), [{ Id: 'p1', YearGroup: '07' }]);
  assert.deepEqual((await all(school.data('AttendanceForDate', { date, sessionType: 'PM' }))).map(({ Mark }) => Mark), ['\\']);
  assert.equal((await school.row('Groups', 'g1'))?.Type, 'RegGrp');
  assert.equal((await school.row('AttendanceForDate', `p1.${date}.AM`))?.MinsLate, 7);
  for (const id of ['nobody', '', '..']) assert.equal(await school.row('Students', id), undefined);
  await service.load('S1', withOffice([], ['p3']));
  const since = (await all(school.data('Students'))).map(({ LastUpdated }) => LastUpdated).toSorted()[0] ?? '';
  const [changes] = await all(school.dataPages('Students', { updatedSince: new Date(since) }));
  assert.deepEqual(changes?.deleted, ['p3']);
  // @ts-expect-error -- a day must be given
  await assert.rejects(all(school.data('AttendanceForDate')), refusal('invalid_request', 400));
  await assert.rejects(all(school.data('students' as 'Students')), { code: 'incomplete', message: /gave no rows on page 1 where 3 were due/ });
  assert.deepEqual((await school.details()).Scopes.slice(0, 2), ['School', 'Student']);
  assert.equal((await school.databases()).AllOK, true);
});

test('data that changes between two pages is not mixed', async () => {
  const pages = school.dataPages('Students', { pageSize: 2 });
  await pages.next();
  await service.load('S1', withOffice());
  await assert.rejects(pages.next(), (error) => error instanceof VersionGone && error.code === 'walk_changed');
});

/** A receiver of the caller's, as it would be mounted. */
async function mount(take: (event: WebhookEvent) => unknown): Promise<string> {
  const server = createServer(nodeHandler({ secret: application.signingSecret, on: take, now: Date.now })).listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('data is waited for with a callback, which may come before the answer', async () => {
  const events: WebhookEvent[] = [];
  let hold: Promise<void> | undefined;
  const url = await mount((event) => {
    events.push(event);
    return callbacks.take(event);
  });
  const callbacks = createCallbacks({ url: `${url}/ready?of=mine` });
  const patient = at('S1', {
    async fetch(address, init) {
      const answer = await fetch(address, init);
      if (address.includes('callbackUrl')) await hold;
      return answer;
    },
  });
  const status = await school.ready('AttendanceForDate', { date }, { callbacks });
  assert.deepEqual([status.AllOK, status.TimedOut, status.Endpoint, status.Estab], [true, false, 'AttendanceForDate', 'S1']);
  assert.equal(events[0]?.params.of, 'mine');
  // The answer is held back until the call has come.
  hold = until('the callback has come', () => events.length === 2);
  assert.equal((await patient.ready('Students', {}, { callbacks })).AllOK, true);
  hold = undefined;
  // What is wrong is told by the callback too.
  const faulty = await patient.ready('AttendanceForDate', { date: 'yesterday' }, { callbacks });
  assert.deepEqual([faulty.AllOK, faulty.ExceptionType], [false, 'invalid_request']);
  assert.equal(callbacks.take({ type: 'availability', params: {}, status }), false, 'nobody waits for this');
});

test('a callback that never comes, or is not waited for, ends the wait', async () => {
  const callbacks = createCallbacks({ url: `${await mount(() => {})}/elsewhere` });
  const pauses: number[] = [];
  const hurried = at('S1', {
    async sleep(ms) {
      pauses.push(ms);
    },
  });
  await assert.rejects(hurried.ready('Students', {}, { callbacks }), { code: 'timeout', message: /request the data directly/ });
  assert.deepEqual(pauses, [12 * 60_000]);
  const leaving = new AbortController();
  const reason = new Error('enough');
  const waiting = school.ready('Students', {}, { callbacks, signal: leaving.signal });
  await until('it is asked for', async () => (await db`select from availability_wait where estab = 'S1'`).length >= 2);
  leaving.abort(reason);
  await assert.rejects(waiting, reason);
  await assert.rejects(school.ready('Students', {}, { callbacks: createCallbacks({ url: 'ftp://x.example/' }) }), refusal('invalid_request', 400));
});

const mark = (index: number, more: Partial<Mark> = {}): Mark => ({ StudentId: student(index), Date: date, Session: 'AM', Mark: 'I', ...more });

test('marks are written, judged, refused by name, and told', async () => {
  const written = await addSchool();
  const receiver = await useReceiver();
  const writer = createClient({ url: service.url, rp: `app1`, now: () => Date.parse(now) }).school({
    estab: written.estab, secret: written.client.schoolSecrets[written.estab] ?? '',
  });
  const outcome = await writer.writeMarks([mark(0), mark(1, { Mark: 'L', Mins: 5, Notes: 'Bus' })]);
  assert.ok('Marks' in outcome);
  assert.deepEqual([outcome.Status, outcome.Written, outcome.Marks[1]?.Result], ['Completed', 2, 'Written']);
  assert.deepEqual((await writer.outcome(outcome.TrackingId))?.Marks, outcome.Marks);
  assert.equal(await writer.outcome('00000000-0000-0000-0000-000000000000'), undefined);

  await assert.rejects(writer.writeMarks([mark(0), mark(1, { Mark: 'H' }), mark(99)]), (error) => {
    assert.ok(error instanceof InvalidMarks && error instanceof SchoolbellError);
    const faults = error.faults.map(({ Index, Code, Suggestion }) => [Index, Code, Suggestion]);
    assert.deepEqual(faults, [[1, 'MarkNotValidForDate', 'C'], [2, 'UnknownStudent', undefined]]);
    assert.deepEqual([error.status, error.code, error.trackingId], [400, 'invalid_marks', undefined]);
    return true;
  });
  const judged = await writer.judgeMarks([mark(0), mark(99)], { mode: 'partial' });
  assert.deepEqual([judged.Valid, judged.Total, judged.Errors[0]?.Code, judged.Marks[0]?.PreviousMark], [1, 2, 'UnknownStudent', 'I']);
  const partial = await writer.writeMarks([mark(2), mark(99)], { mode: 'partial' });
  assert.equal('Marks' in partial && partial.Written, 1);

  const callback = `${receiver.origin}/outcome?mine=1`;
  const key = 'the-same-key';
  const pending = await writer.writeMarks([mark(3)], { callback, idempotencyKey: key });
  assert.equal(pending.Status, 'Pending');
  assert.equal((await writer.waitForOutcome(pending.TrackingId)).Status, 'Completed');
  assert.equal((await writer.writeMarks([mark(3)], { callback, idempotencyKey: key })).TrackingId, pending.TrackingId, 'the same writeback');
  await assert.rejects(writer.writeMarks([mark(4)], { callback, idempotencyKey: key }), refusal('conflict', 409));
  await until('the outcome is posted', () => receiver.arrivals.length === 1);
  await assert.rejects(writer.writeMarks([mark(99)], { callback: [callback] }), (error) => error instanceof InvalidMarks && error.trackingId !== undefined);
  await assert.rejects(writer.waitForOutcome('00000000-0000-0000-0000-000000000000'), { code: 'not_found' });
});

test('what stands in between and refuses is not taken for the service', async () => {
  const page = () => new Response('<h1>Bad request</h1>', { status: 400, headers: { 'content-type': 'text/html' } });
  const behind = at('S1', { fetch: async (address, init) => (address.includes('Attendance') ? page() : fetch(address, init)) });
  await assert.rejects(behind.writeMarks([mark(0)]), { code: 'http_400', status: 400, message: /was answered with 400/ });
});

test('marks that are sent again, because the answer was lost, are written once', async () => {
  const written = await addSchool();
  let lost = 1;
  let slept = 0;
  const writer = createClient({
    url: service.url, rp: 'app2', now: () => Date.parse(now),
    async sleep() {
      slept += 1;
      assert.ok(slept < 100, 'it waits without end');
    },
    async fetch(address, init) {
      const answer = await fetch(address, init);
      if (address.includes('Attendance') && lost-- > 0) throw new TypeError('terminated');
      return answer;
    },
  }).school({ estab: written.estab, secret: written.client.schoolSecrets[written.estab] ?? '' });
  assert.equal((await writer.writeMarks([mark(0)])).Status, 'Completed');
  assert.equal((await db`select from writeback where estab = ${written.estab}`).length, 1);
  await written.set('offline');
  const { TrackingId } = await writer.writeMarks([mark(1)], { callback: 'http://127.0.0.1:65535/' });
  slept = 0;
  await assert.rejects(writer.waitForOutcome(TrackingId, { waitMs: 60_000 }), { code: 'timeout' });
});

test('registrations and deliveries', async () => {
  const receiver = await useReceiver();
  const { webhook, message } = await school.webhooks.register({ url: `${receiver.origin}/changed?estab=S1`, database: 'SchoolData' });
  assert.deepEqual([webhook.DatabaseName, webhook.Method, message], ['SchoolData', 'GET', null]);
  const again = await school.webhooks.register({ url: `${receiver.origin}/changed?estab=S1`, database: 'SchoolData', method: 'POST' });
  assert.deepEqual([again.webhook.Id, again.webhook.Method], [webhook.Id, 'POST']);
  assert.deepEqual((await school.webhooks.list()).map(({ Id }) => Id), [webhook.Id]);
  const sent = await school.webhooks.test(webhook.Id);
  await until('the test is there', async () => (await school.deliveries.get(sent)).State === 'done');
  const delivery = await school.deliveries.get(sent);
  assert.deepEqual([delivery.Kind, delivery.Attempts.map(({ Status }) => Status)], ['test', [200]]);
  assert.equal(await school.deliveries.replay(sent), sent);
  await until('it comes again', () => receiver.arrivals.length === 2);
  const done: Delivery[] = await all(management.deliveries.list({ state: 'done', pageSize: 1 }));
  assert.ok((await all(school.deliveries.list({ since: new Date(0) }))).some(({ Id }) => Id === sent));
  assert.ok(done.length > 1 && done.some(({ Id }) => Id === sent), 'all of the application, page by page');
  await school.webhooks.remove(webhook.Id);
  assert.deepEqual(await school.webhooks.list(), []);
  await assert.rejects(school.webhooks.remove(webhook.Id), refusal('not_found', 404));
  await assert.rejects(school.webhooks.register({ url: 'http://10.0.0.1/', database: 'SchoolData' }), refusal('invalid_request', 400));
});

test('a registration whose removal was not answered is removed, and the next one says that there is none', async () => {
  let lost = 1;
  const { webhooks } = at('S1', {
    sleep: () => Promise.resolve(),
    async fetch(address, init) {
      const answer = await fetch(address, init);
      if (init.method === 'DELETE' && lost-- > 0) throw new TypeError('terminated');
      return answer;
    },
  });
  const { webhook } = await webhooks.register({ url: 'http://127.0.0.1:65535/', database: 'SchoolData' });
  await webhooks.remove(webhook.Id);
  assert.equal(lost, -1);
  await assert.rejects(webhooks.remove(webhook.Id), refusal('not_found', 404));
});

test('deliveries are all listed, although their states change meanwhile and many are of one moment', async () => {
  const receiver = await useReceiver();
  const { webhook } = await school.webhooks.register({ url: `${receiver.origin}/listed`, database: 'SchoolData' });
  const made: string[] = [];
  for (let at = 0; at < 7; at += 1) made.push(await school.webhooks.test(webhook.Id));
  await until('they have arrived', async () => (await db`select from outbox where id = any(${made}) and state = 'done'`).length === made.length);
  const moment = '2026-11-01T10:00:00.123Z';
  await db`update outbox set state = 'superseded', created_at = ${moment}::timestamptz + interval '400 microseconds' where id = any(${made})`;
  await db`update outbox set created_at = ${moment}::timestamptz - interval '1 hour' where id = any(${made.slice(5)})`;
  for (const pageSize of [1, 2, 3, 7]) {
    const listed = (await all(school.deliveries.list({ state: 'superseded', pageSize }))).map(({ Id }) => Id);
    assert.deepEqual(listed.toSorted(), made.toSorted(), `by ${pageSize}`);
  }
  await db`update outbox set created_at = created_at - (array_position(${made}::text[], id)) * interval '1 minute' where id = any(${made})`;
  const seen: string[] = [];
  for await (const { Id } of school.deliveries.list({ state: 'superseded', pageSize: 2 })) {
    seen.push(Id);
    await db`update outbox set state = 'cancelled' where id = ${Id}`;
  }
  assert.deepEqual(seen.toSorted(), made.toSorted());
  await school.webhooks.remove(webhook.Id);
});

test('identity: users, logins, passwords, people of no roster, codes', async () => {
  const { identity } = at('S2');
  const learners = await identity.getUsers({ presenceType: 'Learners' });
  assert.deepEqual(new Set(learners.map(({ PresenceType }) => PresenceType)), new Set(['Learners']));
  const [head] = (await identity.getUsers()).filter(({ FirstName }) => FirstName === 'Philippa');
  const made = await identity.createLogin(head?.Id ?? '');
  assert.deepEqual({ ...made, UserName: '' }, { ...head, UserName: '' });
  assert.equal(made.WorkEmail, 's3@school.example');
  const password = await identity.resetPassword({ username: made.UserName });
  assert.ok(password.length >= 12);
  assert.equal(await identity.resetPassword({ username: made.UserName, password: 'a long walk by the sea', unlockLogin: true }), 'a long walk by the sea');
  await assert.rejects(identity.resetPassword({ username: made.UserName, password: 'password' }), refusal('unprocessable', 422));
  const [user] = await identity.createUser([{ firstName: 'Una', lastName: 'New', email: 'una@school.example' }]);
  assert.deepEqual([user?.displayName, user?.mobile], ['Una New', '']);
  const person = { firstName: 'Max', lastName: 'New', email: 'max@school.example' };
  assert.equal((await management.createUser('S2', [person]))[0]?.displayName, 'Max New');
  await assert.rejects(management.createUser('S2', [person]), refusal('conflict', 409));
  const picture = await management.generateQRCode('https://app.example/äöü');
  assert.equal((await scanText(Buffer.from(picture)))?.text, 'https://app.example/äöü');
  assert.match(new TextDecoder().decode(await management.generateQRCode('x', { format: 'svg' })), /^<svg|^<\?xml/);
});

test('what is not repeatable is sent once', async () => {
  let sent = 0;
  const { identity } = at('S2', {
    fetch(address, init) {
      if (!address.includes('Identity')) return fetch(address, init);
      sent += 1;
      return sent === 1 ? Promise.reject(new TypeError('fetch failed')) : Promise.resolve(new Response('', { status: 503, headers: { 'retry-after': '1' } }));
    },
  });
  const user = { firstName: 'Noa', lastName: 'New', email: 'noa@school.example' };
  await assert.rejects(identity.createUser([user]), { code: 'network' });
  await assert.rejects(identity.createUser([user]), { status: 503, retryAfterMs: 1000 });
  assert.equal(sent, 2);
});

test('schools and invitations of the application', async () => {
  await service.addSchool('S3', smallPackage());
  const states = async () => (await management.schools.list()).map(({ Estab, State }) => `${Estab} ${State}`);
  const before = await states();
  const answers = await management.schools.invite([
    { estab: 'S3', schoolName: 'Third', contactEmail: 'office@S3.example', reason: 'To try', scopes: ['School'] },
    { estab: 'no estab at all', schoolName: 'None', contactEmail: 'x@y.example' },
  ]);
  assert.deepEqual(answers.map(({ ok }) => ok), [true, false], JSON.stringify(answers));
  assert.deepEqual(await states(), [...before, 'S3 Invited']);
  assert.deepEqual((await management.schools.get('S3'))?.ScopesAsked, ['School']);
  await management.schools.withdraw('S3');
  assert.equal(await management.schools.get('S3'), undefined);
  await assert.rejects(management.schools.withdraw('S3'), refusal('not_found', 404));
});

test('a refused token of a school is renewed once, and a wrong secret said as it is', async () => {
  let spoil = 1;
  let tokens = 0;
  const spoiled = at('S1', {
    fetch(address, init) {
      if (address.includes('GetToken')) tokens += 1;
      else if (spoil-- > 0) (init.headers as Record<string, string>).authorization = 'Idaas no.such.token';
      return fetch(address, init);
    },
  });
  assert.equal((await spoiled.databases()).AllOK, true);
  assert.equal(tokens, 2);
  await assert.rejects(open().school({ estab: 'S1', secret: 'sb_school_no' }).databases(), (error) => error instanceof SchoolbellError && error.status === 401);
  await assert.rejects(open().management({ secret: 'no' }).schools.list(), (error) => error instanceof SchoolbellError && error.code === 'invalid_client');
});
