// The ledger of what applications read, through real requests: per school, day and collection, how many requests and
// records, and which fields; and what discloses nothing.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../test/until.ts';
import { useService } from '../../test/service.ts';
import { smallPackage, user } from '../../test/small-school.ts';
import { createLedger } from './disclosures.ts';

const service = await useService();
const { db } = service;
await service.addSchool('s1', smallPackage());
await service.addSchool('s2', smallPackage());
const client = await service.addClient('app', ['s1', 's2'], 'School,Student,Staff');
const other = await service.addClient('other', ['s1'], 'School,Student');

type Line = { estab: string; rp: string; collection: string; requests: number; records: number; fields: string[] };
const lines = () => db<Line[]>`select estab, rp, collection, requests, records::int as records, fields from disclosure order by estab, rp, collection`;
const sums = async () => (await lines()).map(({ estab, rp, collection, requests, records }) => `${estab} ${rp} ${collection} ${requests} ${records}`);

beforeEach(() => db`delete from disclosure`);

/** The ledger is written every second; what must not come would have come. */
const written = () => pause(1_100);

async function shows(expected: readonly string[]): Promise<void> {
  await until('the ledger', async () => (await sums()).join() === expected.join(), sums).catch(async () => assert.deepEqual(await sums(), expected));
}

async function read(answer: Promise<Response>, status = 200): Promise<void> {
  const response = await answer;
  assert.equal(response.status, status, await response.text());
}

test('pages, single reads, whole lists and nested lists count the records that went out, by collection', async () => {
  await read(client.b('s1', '/users?limit=2'));
  await read(client.b('s1', '/users?limit=2'));
  await read(client.b('s1', '/users?limit=4&offset=4'));
  await read(client.b('s1', '/users/p1'));
  await read(client.b('s1', '/users'));
  await read(client.b('s1', '/classes/k1/students'));
  await read(client.b('s1', '/enrollments?limit=100000'));
  await shows(['s1 app enrollments 1 8', 's1 app users 6 15']);
});

test('several schools under one token: each its own; another application: its own', async () => {
  await read(client.a('/users'));
  await read(client.a('/classes?limit=4'));
  await read(other.b('s1', '/users?limit=10'));
  await shows(['s1 app classes 1 3', 's1 app users 1 6', 's1 other users 1 4', 's2 app classes 1 1', 's2 app users 1 6']);
});

test('which fields: those selected, else all of the record; days of one collection add up', async () => {
  await read(client.b('s1', '/users?fields=givenName,email&limit=3'));
  await shows(['s1 app users 1 3']);
  const [chosen] = await lines();
  assert.ok(chosen?.fields.includes('givenName') && chosen.fields.includes('email') && !chosen.fields.includes('familyName'), String(chosen?.fields));
  await read(client.b('s1', '/users?limit=1'));
  await shows(['s1 app users 2 4']);
  const [all] = await lines();
  assert.ok(all?.fields.includes('familyName') && all.fields.includes('sourcedId') && !all.fields.includes('password'), String(all?.fields));
  assert.equal(new Set(all?.fields).size, all?.fields.length);
  await db`update disclosure set day = day - 1`;
  await read(client.b('s1', '/users?limit=1'));
  await until('a new day', async () => (await db`select from disclosure`).length === 2);
});

test('data endpoints count their rows under their own names; the status alone and what is refused count nothing', async () => {
  await read(client.s('s1', 'Students'));
  await read(client.s('s1', 'Students?pageSize=2&page=2'));
  await read(client.s('s1', 'School/s1/Staff'));
  await read(client.s('s1', 'Students?onlyGetDBStatus=true'));
  await read(client.s('s1', 'Contacts'), 403);
  await read(client.s('s1', 'TokenDetails'));
  await written();
  await shows(['s1 app Staff 1 2', 's1 app Students 2 6']);
  assert.ok((await lines()).find(({ collection }) => collection === 'Students')?.fields.includes('Surname'));
});

test('errors, empty pages and what has not changed count nothing', async () => {
  const first = await client.b('s1', '/users?limit=2');
  await first.text();
  await read(client.b('s1', '/users?limit=2', { 'if-none-match': first.headers.get('etag') ?? '' }), 304);
  await read(client.b('s1', '/users?limit=5&offset=1000'));
  await read(client.b('s1', '/users/nobody'), 404);
  await read(client.b('s1', '/demographics'), 403);
  await read(client.b('s1', '/users?limit=x'), 400);
  await written();
  await shows(['s1 app users 1 2']);
});

const head = (path: string) =>
  client.tokenB('s1').then((token) => fetch(`${service.url}/ims/oneroster/v1p1${path}`, { method: 'HEAD', headers: { authorization: `Bearer ${token}` } }));

test('HEAD of a whole list counts nothing', async () => {
  await read(head('/users'));
  await written();
  assert.deepEqual(await sums(), []);
});

test('HEAD of a page, a record or a data endpoint, and "If-None-Match: *", count nothing', async () => {
  await read(head('/users?limit=2'));
  await read(head('/users/p1'));
  await read(client.b('s1', '/users?limit=2', { 'if-none-match': '*' }), 304);
  await read(client.s('s1', 'Students', { method: 'HEAD' }));
  await written();
  const counted = await sums();
  await db`delete from disclosure`;
  assert.deepEqual(counted, []);
});

test('the day is that of the school', async () => {
  await service.addSchool(
    'far',
    smallPackage({
      users: [user('p1', 'student'), user('p2', 'student'), user('p3', 'student'), user('p9', 'student'), user('s1', 'teacher'), user('s2', 'aide')],
    }),
  );
  for (const zone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago']) {
    await db`update establishment set time_zone = ${zone} where estab = 'far'`;
    const ledger = createLedger(db);
    ledger.note({ estab: 'far', rp: 'app', collection: zone, records: 1, fields: ['a'] });
    await ledger.write();
    await ledger.close();
  }
  const days = await db<
    { right: boolean; day: string }[]
  >`select day = (now() at time zone collection)::date as right, day::text from disclosure where estab = 'far'`;
  assert.deepEqual([days.map(({ right }) => right), new Set(days.map(({ day }) => day)).size], [[true, true], 2], 'the two are 25 hours apart');
});

test('what cannot be written is kept and written later; two processes add up', async () => {
  await service.addSchool('kept');
  let broken = true;
  const flaky = new Proxy(db, {
    get: (target, name) => (broken && name === 'together' ? () => Promise.reject(new Error('the database is away')) : (Reflect.get(target, name) as unknown)),
  });
  const [one, two] = [createLedger(flaky), createLedger(db)];
  const disclosure = { estab: 'kept', rp: 'app', collection: 'users', fields: ['a', 'b'] };
  one.note({ ...disclosure, records: 5 });
  await assert.rejects(one.write(), /away/);
  one.note({ ...disclosure, records: 2, fields: ['c'] });
  two.note({ ...disclosure, records: 10 });
  broken = false;
  await Promise.all([one.write(), one.write(), two.write()]);
  await Promise.all([one.close(), two.close()]);
  const [line] = await lines();
  assert.deepEqual([line?.requests, line?.records, line?.fields], [3, 17, ['a', 'b', 'c']]);
});

test('what is written at once of many schools is a line at each, and one that was removed meanwhile keeps none of the others', async () => {
  const many = Array.from({ length: 120 }, (_, at) => `many-${String(at).padStart(3, '0')}`);
  for (const estab of many) await service.addSchool(estab);
  const ledger = createLedger(db);
  for (const estab of [...many, 'removed'])
    for (const collection of ['users', 'classes']) ledger.note({ estab, rp: 'app', collection, records: 2, fields: ['a'] });
  await ledger.write();
  await ledger.close();
  const written = await lines();
  assert.deepEqual(written.map(({ estab, collection }) => `${estab} ${collection}`), many.flatMap((estab) => [`${estab} classes`, `${estab} users`]));
  assert.ok(written.every(({ requests, records }) => requests === 1 && records === 2));
});

test('a school whose sums cannot be written keeps none of the others', async () => {
  const ledger = createLedger(db);
  const note = (estab: string, field: string) => ledger.note({ estab, rp: 'app', collection: 'users', records: 1, fields: [field] });
  // No text of PostgreSQL has it.
  note('s1', '\u0000');
  note('s2', 'givenName');
  await assert.rejects(ledger.write());
  assert.deepEqual(await sums(), ['s2 app users 1 1']);
  await assert.rejects(ledger.write());
  assert.deepEqual(await sums(), ['s2 app users 1 1'], 'and they are counted once');
  await ledger.close();
});
