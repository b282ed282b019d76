// Covers attendance writeback as applications meet it: what is answered and posted, what shows in the data, and what
// is refused, through HTTP, a real worker, the demo MIS and a real receiver.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { useReceiver } from '../../test/delivery.ts';
import { until } from '../../test/until.ts';
import { date, mark, student, useWriteback, type Answer } from '../../test/writeback.ts';

const { service, db, addSchool, open } = await useWriteback();
const numbers = ({ Total, Written, Unchanged, Failed }: Answer) => [Total, Written, Unchanged, Failed];
const results = ({ Marks }: Answer) => Marks.map(({ Index, Result, PreviousMark }) => [Index, Result, PreviousMark]);

test('without a callback the outcome comes back, and the marks show at once, with their history and an event', async () => {
  const school = await addSchool();
  const receiver = await useReceiver();
  const registered = await school.client.s(school.estab, 'Webhook', {
    method: 'POST',
    body: JSON.stringify({ url: `${receiver.origin}/changed?x=1`, DatabaseName: 'Attendance' }),
  });
  assert.ok(registered.status < 300, await registered.text());
  const first = await school.post([mark(0, '/'), mark(1, 'L', { Mins: 12, Notes: 'Bus' }), mark(1, '\\', { Session: 'pm' })]);
  assert.deepEqual(
    [first.status, first.Status, first.Estab, first.Attempts, first.ExceptionMessage, numbers(first)],
    [200, 'Completed', school.estab, 1, null, [3, 3, 0, 0]],
  );
  assert.deepEqual(first.Marks[1], {
    Index: 1, StudentId: student(1), Date: date, Session: 'AM', Mark: 'L', PreviousMark: null, Result: 'Written', Code: null, Message: null,
  });
  assert.ok(Date.parse(first.SubmittedAt) <= Date.parse(first.CompletedAt ?? ''));
  const [zero, late] = await school.register();
  assert.deepEqual([zero?.Mark, late?.Mark, late?.MinsLate, late?.Notes], ['/', 'L', 12, 'Bus']);
  assert.deepEqual(await school.kept(), { 's0000 AM': '/', 's0001 AM': 'L', 's0001 PM': '\\' });
  await until('the change is told', () => receiver.arrivals.length === 1);
  assert.equal(receiver.arrivals[0]?.url, '/changed?x=1');

  const second = await school.post([mark(0, 'I'), mark(1, 'L', { Mins: 12, Notes: 'Bus' })]);
  assert.deepEqual([numbers(second), results(second)], [[2, 1, 1, 0], [[0, 'Written', '/'], [1, 'Unchanged', 'L']]]);
  const [changed, same] = await school.register();
  assert.ok((changed?.LastUpdated ?? '') > (zero?.LastUpdated ?? ''), 'a changed mark is newer');
  assert.equal(same?.LastUpdated, late?.LastUpdated, 'an equal one is not');
  const delta = await school.register(`&updatedSince=${zero?.LastUpdated}`);
  assert.deepEqual(delta.map(({ StudentId, Mark }) => [StudentId, Mark]), [[student(0), 'I']]);
  const rp = school.client.rp;
  assert.deepEqual(await school.history(), [
    { id: student(0), session: 'AM', mark: '/', previous: null, rp, trackingId: first.TrackingId, reason: null },
    { id: student(1), session: 'AM', mark: 'L', previous: null, rp, trackingId: first.TrackingId, reason: null },
    { id: student(1), session: 'PM', mark: '\\', previous: null, rp, trackingId: first.TrackingId, reason: null },
    { id: student(0), session: 'AM', mark: 'I', previous: '/', rp, trackingId: second.TrackingId, reason: null },
  ]);

  await until('the second change is told too', () => receiver.arrivals.length === 2);
  const third = await school.post([mark(0, 'I')]);
  assert.deepEqual(numbers(third), [1, 0, 1, 0]);
  const [databases] =
    await db`select changed_at <= ${third.SubmittedAt}::timestamptz as before from component_database where estab = ${school.estab} and name = 'Attendance'`;
  assert.equal(databases?.before, true, 'nothing changed, so the database did not');
  assert.equal((await school.work()).filter(({ kind, state }) => kind === 'call' && state === 'waiting').length, 0, 'and nobody is told');
});

test('with callbacks it answers 202, then posts the signed outcome to each Url, its query untouched', async () => {
  const school = await addSchool();
  const receiver = await useReceiver();
  const paths = {
    '/a': '/a?', '/b?': '/b?', '/c?id=%7e+1&estab=x': '/c?id=%7e+1&estab=x&', '/d?x=1&': '/d?x=1&', '/e?x=%23#top': '/e?x=%23&', '/f#top': '/f?',
  };
  const answer = await school.post([mark(0), mark(1)], { callback: Object.keys(paths).map((path) => ({ Method: 'POST', Url: receiver.origin + path })) });
  assert.deepEqual([answer.status, answer.Status, answer.Total], [202, 'Pending', 2]);
  await until('all are told', () => receiver.arrivals.length === Object.keys(paths).length);
  const added = `trackingid=${answer.TrackingId}&completed=True`;
  assert.deepEqual(receiver.arrivals.map(({ url }) => url).toSorted(), Object.values(paths).map((path) => path + added).toSorted());
  const asked = await school.outcome(answer.TrackingId);
  assert.deepEqual(numbers(asked), [2, 2, 0, 0]);
  for (const { method, headers, body } of receiver.arrivals) {
    assert.deepEqual([method, headers['content-type']], ['POST', 'application/json']);
    const posted = new Webhook(school.client.signingSecret).verify(body, headers as Record<string, string>) as Record<string, unknown>;
    for (const [name, value] of Object.entries(posted)) assert.deepEqual(asked[name as keyof Answer], value, name);
    assert.deepEqual(
      Object.keys(posted)
        .filter((name) => name !== 'Message')
        .toSorted(),
      ['Attempts', 'CompletedAt', 'Estab', 'Failed', 'Marks', 'Status', 'SubmittedAt', 'Total', 'TrackingId', 'Unchanged', 'Written'],
    );
  }
  assert.equal(new Set(receiver.arrivals.map(({ id }) => id)).size, Object.keys(paths).length);

  const one = await school.post([mark(0, 'N')], { callback: { method: 'post', url: `${receiver.origin}/one` } });
  await until('the one is told', () => receiver.arrivals.some(({ url }) => url === `/one?trackingid=${one.TrackingId}&completed=True`));
});

test('one that was taken and is not to be seen yet, as where the node of its school was just lost, is to be asked for again', async () => {
  const school = await addSchool();
  const { TrackingId } = await school.post([mark(0)]);
  const stranger = open(school.estab, await service.addClient('another', [school.estab]));
  await until('its work is settled', async () => (await school.work()).some(({ kind, state }) => kind === 'writeback' && state === 'done'));
  await db`delete from writeback_mark where estab = ${school.estab} and tracking_id = ${TrackingId}`;
  await db`delete from writeback where estab = ${school.estab} and tracking_id = ${TrackingId}`;
  const look = async (asking: Pick<typeof school, 'ask'> = school) => (await asking.ask(`Writeback/${TrackingId}`)).status;
  assert.equal(await look(), 404);
  await db`
    update outbox set state = 'waiting', settled_at = null, due_at = now() + interval '1 hour'
    where estab = ${school.estab} and payload ->> 'trackingId' = ${TrackingId}`;
  assert.deepEqual([await look(), await look(stranger)], [503, 404]);
});

test('a writeback is of one application at one school', async () => {
  const [school, other] = [await addSchool(), await addSchool()];
  const { TrackingId } = await school.post([mark(0)]);
  const stranger = open(school.estab, await service.addClient('stranger', [school.estab]));
  for (const asking of [other, stranger]) assert.equal((await asking.ask(`Writeback/${TrackingId}`)).status, 404);
  for (const path of ['Writeback/none', `Writeback/${crypto.randomUUID()}`, 'Writeback/%00'])
    assert.equal((await school.ask(path)).status === 404 || path.endsWith('%00'), true, path);
  assert.equal((await school.ask(`Writeback/${TrackingId.toUpperCase()}/`)).TrackingId, TrackingId);
  for (const path of [`School/${other.estab}/Attendance`, `Attendance/${other.estab}`]) {
    const refused = await school.ask(path, { method: 'POST', body: JSON.stringify({ Marks: [mark(0)] }) });
    assert.deepEqual([refused.status, refused.ExceptionType === null], [403, false]);
  }
  const same = await school.ask(`Attendance/${school.estab}/`, { method: 'POST', body: JSON.stringify({ Marks: [mark(1)] }) });
  assert.deepEqual([same.status, same.Written], [200, 1]);
});

test('one fault refuses all, and all are named; with mode=partial the rest is written', async () => {
  const school = await addSchool();
  const marks = [mark(0), mark(1, 'H'), mark(2), { ...mark(3), StudentId: 'nobody' }, { ...mark(4), Date: 'today' }, mark(2, 'N')];
  const refused = await school.post(marks);
  assert.equal(refused.status, 400);
  assert.deepEqual(
    refused.Errors.map(({ Index, Field, Code }) => [Index, Field, Code]),
    [
      [1, 'Mark', 'MarkNotValidForDate'],
      [3, 'StudentId', 'UnknownStudent'],
      [4, 'Date', 'InvalidDate'],
      [5, 'StudentId', 'Duplicate'],
    ],
  );
  assert.deepEqual([await school.work(), await school.kept(), (await db`select from writeback where estab = ${school.estab}`).length], [[], {}, 0]);
  const partial = await school.post(marks, { query: '?mode=partial' });
  assert.deepEqual([partial.status, partial.Status, numbers(partial)], [200, 'Completed', [6, 2, 0, 4]]);
  assert.deepEqual(
    partial.Marks.map(({ Result, Code }) => Code ?? Result),
    ['Written', 'MarkNotValidForDate', 'Written', 'UnknownStudent', 'InvalidDate', 'Duplicate'],
  );
  assert.equal(partial.Marks[4]?.Date, 'today');
  assert.deepEqual(await school.shown(), { 's0000 AM': 'I', 's0002 AM': 'I' });
  const hopeless = await school.post([mark(1, 'H')], { query: '?Mode=Partial' });
  assert.deepEqual([hopeless.status, hopeless.Errors.length], [400, 1]);
});

test('validateOnly judges and writes nothing', async () => {
  const school = await addSchool();
  await school.post([mark(0, '/')]);
  const good = await school.post([mark(0, 'I'), mark(1)], { query: '?validateOnly=true' });
  assert.deepEqual([good.status, good.Total, good.Valid, results(good)], [200, 2, 2, [[0, 'Valid', '/'], [1, 'Valid', null]]]);
  const bad = await school.post([mark(0, 'I'), mark(1, 'J')], { query: '?validateonly=TRUE' });
  assert.deepEqual([bad.status, bad.Errors.map(({ Index, Code }) => [Index, Code])], [400, [[1, 'MarkNotValidForDate']]]);
  const some = await school.post([mark(0, 'I'), mark(1, 'J')], { query: '?validateOnly=true&mode=partial' });
  assert.deepEqual([some.status, some.Total, some.Valid, some.Errors.length], [200, 2, 1, 1]);
  assert.deepEqual([await school.shown(), (await school.work()).length], [{ 's0000 AM': '/' }, 1]);
});

test('requests that cannot be right are refused and leave nothing', async () => {
  const school = await addSchool();
  const body = { Marks: [mark(0)] };
  const raw = (text: string, headers: Record<string, string> = {}, query = '') =>
    school.ask(`School/${school.estab}/Attendance${query}`, { method: 'POST', headers, body: text });
  const callback = (given: unknown) => raw(JSON.stringify({ ...body, callback: given }));
  const url = 'https://192.0.2.1/x';
  const refused: [number, RegExp, () => Promise<Answer>][] = [
    [400, /JSON/i, () => raw('{"Marks": [')],
    [400, /object/, () => raw('[]')],
    [400, /Marks/, () => raw('{}')],
    [400, /5001/, () => raw(JSON.stringify({ Marks: Array.from({ length: 5001 }, () => mark(0)) }))],
    [413, /./, () => raw(`{"Marks": [], "x": "${'x'.repeat(8 * 1024 * 1024)}"}`)],
    [415, /./, () => raw(JSON.stringify(body), { 'content-type': 'text/plain' })],
    [415, /./, () => raw('Marks=1', { 'content-type': 'application/x-www-form-urlencoded' })],
    [400, /callback\[1\]\.Url/, () => callback([{ Method: 'POST', Url: 'http://127.0.0.1:9999/' }, { Method: 'POST', Url: 'http://10.0.0.1/' }])],
    [400, /callback.*\.Url/, () => callback({ Method: 'POST', Url: 'ftp://app.example/' })],
    [400, /callback\[0\]\.Url.*at most 4096/, () => callback([{ Method: 'POST', Url: `${url}?x=${'x'.repeat(4040)}` }])],
    [400, /callback\.Url.* missing/, () => callback({ Method: 'POST' })],
    [400, /callback\[0\]\.Method.*GET.*POST/, () => callback([{ Method: 'GET', Url: url }])],
    [400, /"dryRun" is not a parameter/, () => raw(JSON.stringify(body), {}, '?dryRun=true')],
    [400, /mode/, () => raw(JSON.stringify(body), {}, '?mode=some')],
    [400, /mode.*2 times/, () => raw(JSON.stringify(body), {}, '?mode=partial&MODE=partial')],
    [400, /validateOnly/, () => raw(JSON.stringify(body), {}, '?validateOnly=yes')],
    [400, /Idempotency-Key/, () => raw(JSON.stringify(body), { 'idempotency-key': 'a b' })],
    [400, /Idempotency-Key/, () => raw(JSON.stringify(body), { 'idempotency-key': 'x'.repeat(256) })],
  ];
  for (const [status, message, ask] of refused) {
    const answer = await ask();
    assert.equal(answer.status, status, `${message}: ${answer.ExceptionMessage}`);
    assert.match(String(answer.ExceptionMessage), message);
    assert.ok(answer.ExceptionType);
  }
  const elsewhere = await school.client.s(school.estab, `School/${school.estab}/Students`, { method: 'POST', body: JSON.stringify(body) });
  assert.deepEqual([elsewhere.status, elsewhere.headers.get('allow')], [405, 'GET, HEAD']);
  const reading = open(school.estab, await service.addClient('reader', [school.estab], 'School,Student,Attendance'));
  const forbidden = await reading.post([mark(0)]);
  assert.deepEqual([forbidden.status, /WritebackAttendance/.test(String(forbidden.ExceptionMessage))], [403, true]);
  assert.equal(
    (
      await fetch(`${service.url}/api/v1/School/${school.estab}/Attendance`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    ).status,
    401,
  );
  assert.deepEqual([await school.work(), (await db`select from writeback where estab = ${school.estab}`).length], [[], 0]);
});

test('a school without a connector, or with one that cannot write, answers 409', async () => {
  for (const [connector, message] of [[null, /not connected/], ['oneroster', /oneroster, which cannot write/]] as const) {
    const school = await addSchool({ connector });
    for (const query of ['', '?validateOnly=true']) {
      const answer = await school.post([mark(0)], { query });
      assert.equal(answer.status, 409);
      assert.match(String(answer.ExceptionMessage), message);
    }
  }
});

test('a csv school gets a file of the marks: below its folder, or where the service keeps its files', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'schoolbell-writeback-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const uploaded = await addSchool({ connector: 'csv' });
  const watched = await addSchool({ connector: 'csv', folder });
  for (const [school, place] of [
    [uploaded, join(service.dataDir, 'writeback', uploaded.estab)],
    [watched, join(folder, 'writeback')],
  ] as const) {
    const answer = await school.post([mark(0, 'L', { Mins: 5, Notes: 'Train, "late"' }), mark(1, '\\', { Session: 'PM' }), mark(2, 'H')], {
      query: '?mode=partial',
    });
    assert.deepEqual([answer.status, answer.Status, numbers(answer)], [200, 'Completed', [3, 2, 0, 1]]);
    assert.deepEqual(readdirSync(place), [`${answer.TrackingId}.csv`]);
    assert.deepEqual(
      readFileSync(join(place, `${answer.TrackingId}.csv`), 'utf8')
        .trimEnd()
        .split(/\r?\n/),
      ['studentSourcedId,date,session,mark,minutesLate,notes', `${student(0)},${date},AM,L,5,"Train, ""late"""`, `${student(1)},${date},PM,\\,,`],
    );
    assert.deepEqual(await school.shown(), { 's0000 AM': 'L', 's0001 PM': '\\' }, 'a school that had no attendance has some now');
  }
});
