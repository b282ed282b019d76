// Covers the rounds of what is over age and lies with schools: each has its turn once a day, some of them in every hour, and one at
// which something fails keeps none of the others, nor any other kind of thing; what is noted of a school is put right.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvPackage } from '../test/csv-package.ts';
import { earlier } from '../test/earlier.ts';
import { withoutNodeOf } from '../test/node-away.ts';
import { useService } from '../test/service.ts';
import { smallPackage, smallSchool, user } from '../test/small-school.ts';
import type { ForgetPeople } from './roster/leaver.ts';
import { visitSchools } from './visit-schools.ts';

const service = await useService();
const { db } = service;
const config = { purgeAfterDays: 90 };
const hourMs = 3_600_000;
const begin = Date.parse('2026-11-18T12:00:00Z');
const forgetNothing: ForgetPeople = async () => async () => {};
const visit = (hours: number, forgetPeople = forgetNothing) => visitSchools(db, config, forgetPeople, new Date(begin + hours * hourMs));

const leaveOld = (estab: string) => db`
  insert into upload_receipt (estab, id, by_job, taken_at) values (${estab}, gen_random_uuid(), true, now() - interval '400 days')`;
const old = async (estab: string) => (await db`select from upload_receipt where estab = ${estab}`).length;
const sweptHoursAgo = async (hours: number) =>
  (await db<{ ago: number }[]>`
    select extract(epoch from ${new Date(begin + hours * hourMs)} - swept_at)::float8 / 3600 as ago from roster_standing order by estab`).map(({ ago }) => ago);

test('a school has its turn at first, not again within twenty hours, and once more after that', async () => {
  await service.addSchool('once');
  await leaveOld('once');
  await visit(0);
  assert.equal(await old('once'), 0);
  // At first it counts as a visit of some hours before.
  const [ago = -1] = await sweptHoursAgo(0);
  assert.ok(ago >= 0 && ago < 20, String(ago));
  await leaveOld('once');
  await visit(19.9 - ago);
  assert.equal(await old('once'), 1, 'not yet');
  await visit(20 - ago);
  assert.equal(await old('once'), 0);
  await leaveOld('once');
  await visit(39.9 - ago);
  assert.equal(await old('once'), 1, 'not twice a day');
  await visit(40 - ago);
  assert.equal(await old('once'), 0);
});

test('schools that were all late come in turn from then on: every hour has its share', async () => {
  for (let at = 0; at < 60; at += 1) await service.addSchool(`share-${at}`);
  await visit(100);
  const ago = await sweptHoursAgo(100);
  const inEach = Array.from({ length: 20 }, (_, hour) => ago.filter((one) => one >= hour && one < hour + 1).length);
  assert.equal(inEach.reduce((all, one) => all + one, 0), ago.length, 'within the last twenty hours');
  assert.ok(Math.max(...inEach) <= 10 && inEach.filter((one) => one > 0).length >= 15, inEach.join());
  await visit(101);
  assert.equal((await sweptHoursAgo(101)).filter((one) => one === 0).length, inEach[19], 'an hour later those of that hour');
});

test('where something fails the rest goes, there and at other schools, and it is tried again the next time', async () => {
  const names = ['fails-a', 'fails-b'];
  for (const estab of names) {
    await service.addSchool(estab, smallPackage({ users: [...smallSchool.users, user('gone', 'student')] }));
    await service.load(estab, csvPackage({ users: smallSchool.users }), { approve: true });
    await db`update roster_version set instant = ${earlier(db, 'instant', '91 days')} where estab = ${estab}`;
    await leaveOld(estab);
  }
  const failing: ForgetPeople = async (_, estab) => {
    if (estab === 'fails-a') throw new Error('the search failed');
    return async () => {};
  };
  const left = async () => (await db<{ estab: string }[]>`select estab from roster_user where sourced_id = 'gone' order by estab`).map(({ estab }) => estab);
  await assert.rejects(visit(200, failing), (error: AggregateError) => {
    assert.deepEqual([error.message.replace(/\d+ schools/, 'all schools'), error.errors.map(String)], [
      '1 of all schools could not be gone through', ['Error: fails-a could not be gone through'],
    ]);
    return true;
  });
  assert.deepEqual([await left(), await old('fails-a'), await old('fails-b')], [['fails-a'], 0, 0]);
  assert.ok((await visit(200)) > 0);
  assert.deepEqual(await left(), []);
});

test('what is noted of a school otherwise than its records say is put right', async () => {
  await service.addSchool('drifted', smallPackage());
  const noted = async () => ({ ...(await db`select version, instant, records, pupils from roster_standing where estab = 'drifted'`)[0] });
  const right = await noted();
  await db`update roster_standing set version = 0, instant = null, records = 0, swept_at = '-infinity' where estab = 'drifted'`;
  assert.notDeepEqual(await noted(), right);
  await visit(300);
  assert.deepEqual(await noted(), right);
});

test('a school that cannot be had is left at the first statement, and stands behind the others the next time', async () => {
  for (const estab of ['away', 'there']) await service.addSchool(estab);
  await visit(400);
  const dueAt = (estab: string, hours: number) => db`update roster_standing set swept_at = ${new Date(begin + hours * hourMs)} where estab = ${estab}`;
  await db`update roster_standing set swept_at = ${new Date(begin + 500 * hourMs)}`;
  await dueAt('away', 479);
  const asked: string[] = [];
  const visitBeside = (hours: number) =>
    assert.rejects(visitSchools(withoutNodeOf(db, 'away', asked), config, forgetNothing, new Date(begin + hours * hourMs)), /1 of \d school/);
  await visitBeside(500);
  assert.deepEqual(asked, ['away']);
  await dueAt('there', 480);
  await visitBeside(500);
  assert.ok(asked.length > 5, 'the other one has all of its turn');
  assert.ok(asked.lastIndexOf('there') < asked.lastIndexOf('away'));
  assert.equal(asked.filter((estab) => estab === 'away').length, 2);
  await visit(500);
  assert.ok((await sweptHoursAgo(500)).every((ago) => ago === 0));
});
