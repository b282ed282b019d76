// Covers what one request asks of many small schools: what goes to the database at once, what need not be asked at all, and what is asked no
// further when nobody waits for it.
import assert from 'node:assert/strict';
import { get } from 'node:http';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { byName } from '../../test/dialects.ts';
import { heardStatements } from '../../test/heard-statements.ts';
import { loadSource, madeUpSource, person, role } from '../../test/made-up-source.ts';
import { readAnswer } from '../../test/read-answer.ts';
import { useService } from '../../test/service.ts';
import { until } from '../../test/until.ts';
import { connect } from '../db/connect.ts';
import { createPrefer } from '../db/replicas.ts';
import { NobodyWaits } from '../http/deadline.ts';
import type { ListPiece } from '../roster/list-source.ts';
import { dialects } from './dialects/all.ts';
import { operations } from './operations.ts';
import { readingFrom } from './readings.ts';
import { findFullReach } from './see-record.ts';
import { findSource } from './source.ts';
import { requireTargets } from './visibility.ts';

const service = await useService();
const { db } = service;
const estabs = Array.from({ length: 24 }, (_, at) => `school-${String(at).padStart(2, '0')}`);
const pupil = (at: number, number: number) => person(`p${at}-${number}`, [role('student', 'org')], { familyName: number === 0 ? 'First' : 'Lee' });
for (const [at, estab] of estabs.entries()) {
  await service.addSchool(estab);
  const orgs = [{ sourcedId: 'org', name: 'School', type: 'school' }];
  await loadSource(service, estab, madeUpSource({ orgs, users: [0, 1, 2].map((number) => pupil(at, number)) }));
}
const client = await service.addClient('many', estabs);
const headers = { authorization: `Bearer ${await client.token12()}` };
const addressOf = (path: string) => `${service.url}${byName['1.2'].root}${path}`;
const ask = (path: string) => readAnswer(addressOf(path), headers);
const filtered = (filter: string, more = '') => `/users?filter=${encodeURIComponent(filter)}${more}`;
async function listed(path: string) {
  const { status, body, headers: told } = await ask(path);
  assert.equal(status, 200, path);
  const { users } = JSON.parse(body.toString()) as { users: { sourcedId: string }[] };
  return { users: users.map(({ sourcedId }) => sourcedId), total: Number(told['x-total-count']) };
}

const waiting = async (pool: string) => (await db`
  select from pg_stat_activity where datname = current_database() and application_name like ${`schoolbell ${pool} %`} and wait_event_type = 'Lock'`).length;

/** How many statements have been asked when none is answered, since the table is locked, and so many connections wait. */
async function askedAtOnce(pool: string, connections: number, path: string): Promise<number> {
  const answers: Promise<unknown>[] = [];
  const heard = await db.begin(async (tx) => {
    await tx`lock table roster_user`;
    return heardStatements(async () => {
      answers.push(ask(path));
      await until('they wait', async () => (await waiting(pool)) === connections);
    }, pool);
  });
  await Promise.all(answers);
  return heard.length;
}

test('a page of many schools, and one record of many, is asked of several schools at once', async () => {
  assert.equal((await listed('/users?limit=100')).users.length, 72);
  assert.equal(await askedAtOnce('reads', 2, '/users?limit=60'), 20);
  assert.equal(await askedAtOnce('searches', 3, filtered("familyName='first'", '&limit=60')), estabs.length, 'counted');
  assert.equal(await askedAtOnce('searches', 3, filtered("familyName='first'", '&limit=50')), estabs.length);
  assert.equal(await askedAtOnce('reads', 1, '/users/p3-1'), estabs.length);
});

test('of the schools of a token only the one that has the record reads it', async () => {
  const heard = await heardStatements(async () => assert.equal((await ask('/users/p5-1')).status, 200), 'reads');
  assert.deepEqual([heard.filter((text) => text.includes('.head')).length, heard.length], [1, estabs.length + 1]);
  const nobody = await heardStatements(async () => assert.equal((await ask('/users/nobody')).status, 404), 'reads');
  assert.equal(nobody.filter((text) => text.includes('.head')).length, 0);
  // More schools have it than are read.
  assert.equal((await ask('/orgs/org')).status, 400);
});

test('schools that have nothing new are not asked for it', async () => {
  const since = new Date().toISOString();
  await loadSource(service, 'school-07', madeUpSource({ users: [{ ...pupil(7, 1), givenName: 'Later' }] }, 'delta'));
  for (const filter of [`dateLastModified>'${since}'`, `dateLastModified>='${since}' AND familyName='lee'`]) {
    const heard = await heardStatements(async () => assert.deepEqual(await listed(filtered(filter)), { users: ['p7-1'], total: 1 }), 'searches');
    assert.equal(heard.length, 1, filter);
  }
  const either = await listed(filtered(`dateLastModified>'${since}' OR familyName='first'`));
  assert.equal(either.total, estabs.length + 1);
  // Within a school there may be no such class.
  assert.equal((await ask(`/classes/none/students?filter=${encodeURIComponent(`dateLastModified>'${since}'`)}`)).status, 404);
});

test('how many match is remembered of many questions, however long they are', async () => {
  const question = (at: number) => filtered(`familyName='first' AND givenName!='${at}${'x'.repeat(3_500)}'`, '&limit=1');
  for (let at = 0; at < 28; at += 1) assert.equal((await listed(question(at))).total, estabs.length);
  const heard = await heardStatements(() => listed(question(0)), 'searches');
  assert.equal(heard.length, 1, 'the page itself');
});

test('what nobody waits for any more is not gone on with', async () => {
  const path = filtered("familyName='lee'", '&limit=40');
  const pages = async (work: () => Promise<unknown>) => (await heardStatements(work, 'searches')).filter((text) => text.includes('.head')).length;
  const connections = () => promisify(service.app.server.getConnections.bind(service.app.server))();
  const all = await pages(async () => {
    const before = await connections();
    await db.begin(async (tx) => {
      await tx`lock table roster_user`;
      const request = get(addressOf(path), { headers, agent: false });
      request.once('error', () => {});
      await until('it counts', async () => (await waiting('searches')) === 3);
      request.destroy();
      await until('it is known there', async () => (await connections()) <= before);
    });
    await listed(path);
  });
  assert.equal(all, await pages(() => listed(path)), 'only of who still waited');
});

// ---- Whole lists ----------------------------------------------------------------------------------------------------

test('a whole list asks where a school stands only if that has moved', async () => {
  const heard = await heardStatements(async () => assert.equal((await listed(filtered("familyName='first'"))).users.length, estabs.length), 'reads');
  assert.deepEqual(heard.filter((text) => text.includes('roster_standing')), []);
});

/** One connection for whole lists, which the test may take. */
async function openWhole(over?: AbortSignal) {
  const lists = connect(service.databaseUrl, { max: 1, name: 'lists', connectionMs: 100 });
  after(() => lists.end());
  const reader = { ...readingFrom(db), lists };
  const reading = { ...reader, prefer: createPrefer(reader, undefined), ...(over ? { over } : {}) };
  const [dialect, operation] = [dialects.find(({ name }) => name === '1.2'), operations.find(({ name }) => name === 'getAllUsers')];
  if (!dialect || !operation) throw new Error('there is no such operation');
  const reach = (await Promise.all(estabs.slice(6, 9).map((estab) => findFullReach(db, estab)))).flatMap((one) => one ?? []);
  const targets = requireTargets({ rp: 'many', reach, oneRosterScopes: undefined }, operation, dialect);
  const source = await findSource(reading, { dialect, operation, ids: [], targets, filter: undefined, sort: undefined, address: 'x' });
  const list = await source.open({ limit: undefined, offset: 0 });
  const schools: string[] = [];
  const rest = async () => {
    for await (const { estab } of list.pieces as AsyncIterable<ListPiece>) schools.push(estab);
    return schools;
  };
  return { lists, list, rest };
}

test('a list that has begun waits for a connection, is of the version that it began with, and ends when nobody waits', async () => {
  const { lists, list, rest } = await openWhole();
  const { value } = (await list.pieces.next()) as { value: ListPiece };
  const held = await lists.reserve();
  await loadSource(service, 'school-07', madeUpSource({ users: [pupil(7, 9)] }, 'delta'));
  const read = rest();
  await until('it was refused one', () => lists.load().refused.busy > 1);
  held.release();
  assert.deepEqual([value.estab, ...(await read)], estabs.slice(6, 9));

  const end = new AbortController();
  const left = await openWhole(end.signal);
  await left.list.pieces.next();
  const taken = await left.lists.reserve();
  const broken = assert.rejects(left.rest(), NobodyWaits);
  await until('it was refused one', () => left.lists.load().refused.busy > 0);
  end.abort(new NobodyWaits());
  await broken;
  taken.release();
});
