// Covers the demo school as it moves: in small steps, within bounds, with every reference whole, and always a school
// that an import takes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useDataDir } from '../../../../test/data-dir.ts';
import { useDatabase } from '../../../../test/database.ts';
import { addEstablishment } from '../../../access/establishments.ts';
import { importRoster } from '../../import.ts';
import { openCsvSource } from '../csv/csv-source.ts';
import type { DemoFile } from './demo-file.ts';
import { demoPackage } from './demo-package.ts';
import { changesInForce, slotMs } from './drift-plan.ts';
import { driftSchool } from './drift.ts';
import { demoSchool } from './school.ts';
import { upnCheckLetter } from './upn.ts';

const base = demoSchool();
const epoch = Date.parse('2026-09-01T00:00:00Z');
const atSlot = (slot: number, within = 0) => new Date(epoch + slot * slotMs + within);
const november = Math.floor((Date.parse('2026-11-15T05:00:00Z') - epoch) / slotMs);
const joinerArrives = Math.ceil(november / 72) * 72;

type Row = readonly string[];
const known = new WeakMap<DemoFile, Map<string, Row>>();
function rowsOf(files: readonly DemoFile[], name: string): Map<string, Row> {
  const file = files.find((one) => one.name === `${name}.csv`) ?? assert.fail(name);
  const rows = known.get(file) ?? new Map(file.rows.map((row) => [row[0] ?? '', row]));
  known.set(file, rows);
  return rows;
}
const same = (one: Row | undefined, other: Row | undefined) =>
  one === other || (one !== undefined && other !== undefined && one.join('\u0000') === other.join('\u0000'));

/** How many records of each file are new, different or gone. */
function differences(before: readonly DemoFile[], after: readonly DemoFile[]): Map<string, number> {
  return new Map(before.map(({ name }) => {
    const [old, young] = [rowsOf(before, name.slice(0, -4)), rowsOf(after, name.slice(0, -4))];
    const ids = new Set([...old.keys(), ...young.keys()]);
    return [name, [...ids].filter((id) => !same(old.get(id), young.get(id))).length];
  }));
}
const total = (counts: ReadonlyMap<string, number>) => [...counts.values()].reduce((sum, count) => sum + count, 0);

/** Records by column names. */
function entries(files: readonly DemoFile[], name: string): Record<string, string>[] {
  const { header, rows } = files.find((file) => file.name === `${name}.csv`) ?? assert.fail(name);
  return rows.map((row) => Object.fromEntries(header.map((column, at) => [column, row[at] ?? ''])));
}

test('without an instant the school does not move, and what is drawn is never altered', () => {
  const before = JSON.stringify(base);
  driftSchool(base, atSlot(november));
  assert.equal(JSON.stringify(base), before);
  assert.deepEqual(demoSchool(atSlot(november)), driftSchool(base, atSlot(november)));
});

test('within a slot nothing changes', () => {
  for (const slot of [18, november]) {
    const files = driftSchool(base, atSlot(slot));
    for (const within of [1, slotMs - 1]) assert.deepEqual(driftSchool(base, atSlot(slot, within)), files);
  }
});

/** Small changes of every kind, before and after the epoch and years later; and a joiner, one who goes again, a leaver, one who is back. */
const comingsAndGoings = [0, 18, 36, 54].map((turn) => joinerArrives + turn);
const steps: [from: number, slots: number][] = [[-2, 4], [november, 9], ...comingsAndGoings.map((slot): [number, number] => [slot, 1]), [november + 40_000, 2]];

test('from slot to slot one to ten records change, and never more than 2 % of a collection differ from the school as drawn', () => {
  for (const [from, slots] of steps) {
    let last = driftSchool(base, atSlot(from - 1));
    for (let slot = from; slot < from + slots; slot += 1) {
      const files = driftSchool(base, atSlot(slot));
      const changed = total(differences(last, files));
      assert.ok(changed >= 1 && changed <= 10, `${changed} records at slot ${slot}`);
      for (const [name, count] of differences(base, files))
        assert.ok(count * 50 <= rowsOf(base, name.slice(0, -4)).size, `${count} of ${name} at slot ${slot}`);
      last = files;
    }
  }
});

test('in a day every kind of change begins, and two join and two leave', () => {
  const began = new Map<string, Set<number>>();
  for (let slot = november; slot < november + 144; slot += 1) {
    for (const { kind, number, since } of changesInForce(atSlot(slot)))
      if (since === atSlot(slot).toISOString()) began.set(kind, (began.get(kind) ?? new Set()).add(number));
  }
  assert.deepEqual(
    Object.fromEntries([...began].map(([kind, numbers]) => [kind, ['joiner', 'leaver'].includes(kind) ? numbers.size : numbers.size > 15]).sort()),
    { contactPhone: true, email: true, house: true, joiner: 2, leaver: 2, room: true, teachingSet: true, tutorGroup: true, username: true },
  );
});

test('ids are stable: nobody of the school as drawn vanishes, and who is new has come to join', () => {
  const joiners = new Set<string>();
  for (let slot = november; slot < november + 144 * 14; slot += 72 * 5) {
    const files = driftSchool(base, atSlot(slot));
    for (const { name } of base) {
      const [drawn, now] = [rowsOf(base, name.slice(0, -4)), rowsOf(files, name.slice(0, -4))];
      assert.deepEqual([...drawn.keys()].filter((id) => !now.has(id)), []);
      assert.equal(now.size, files.find((file) => file.name === name)?.rows.length, `${name} has an id twice`);
      const added = [...now.keys()].filter((id) => !drawn.has(id));
      if (name === 'users.csv') for (const id of added) joiners.add(id);
      else if (name !== 'enrollments.csv') assert.ok(added.every((id) => joiners.has(id)), name);
    }
  }
  assert.ok(joiners.size > 20 && joiners.size <= 70, `${joiners.size} pupils and parents joined in two weeks`);
});

test('at any slot it is a sound school', () => {
  for (let slot = november; slot < november + 200; slot += 99) {
    const files = driftSchool(base, atSlot(slot));
    const [users, classes, enrollments, demographics] = ['users', 'classes', 'enrollments', 'demographics'].map((name) => entries(files, name)) as [
      Record<string, string>[], Record<string, string>[], Record<string, string>[], Record<string, string>[],
    ];
    const userById = new Map(users.map((user) => [user.sourcedId, user]));
    const classById = new Map(classes.map((group) => [group.sourcedId, group]));
    for (const column of ['username', 'identifier', 'email']) {
      const filled = users.map((user) => user[column]).filter(Boolean);
      if (column !== 'email') assert.equal(filled.length, users.length, `everybody has a value for ${column}`);
      assert.equal(new Set(filled).size, filled.length, column);
    }
    for (const { sourcedId = '', agentSourcedIds = '', role = '', identifier = '' } of users) {
      for (const agent of agentSourcedIds.split(',').filter(Boolean))
        assert.ok(userById.get(agent)?.agentSourcedIds?.split(',').includes(sourcedId), `${sourcedId} and ${agent}`);
      if (role === 'student') assert.equal(identifier.charAt(0), upnCheckLetter(identifier.slice(1)));
    }
    for (const { sourcedId, status } of demographics) assert.equal(userById.get(sourcedId ?? '')?.status, status);
    const diaries = new Map<string, string[]>();
    for (const { userSourcedId = '', classSourcedId = '', status, role, beginDate = '', endDate = '' } of enrollments) {
      const [user, group] = [userById.get(userSourcedId) ?? assert.fail(userSourcedId), classById.get(classSourcedId) ?? assert.fail(classSourcedId)];
      if (beginDate !== '' && endDate !== '') assert.ok(beginDate <= endDate, `${beginDate} to ${endDate}`);
      if (status !== '') continue;
      assert.deepEqual([user.status, group.status], ['', '']);
      if (role === 'student') {
        assert.equal(user.grades, group.grades);
        diaries.set(userSourcedId, [...(diaries.get(userSourcedId) ?? []), ...(group.periods ?? '').split(',')]);
        if (group.classType === 'homeroom') assert.equal(group.title, user['metadata.tutorGroup']);
      }
    }
    for (const diary of diaries.values()) assert.equal(new Set(diary).size, diary.length);
    assert.equal(diaries.size, users.filter((user) => user.role === 'student' && user.status === '').length);
  }
});

test('an import takes any slot, counts what moved, and nothing is held', async () => {
  const { db } = await useDatabase();
  const options = { partial: false, force: false, dataDir: useDataDir(), shrinkLimitPercent: 2 };
  const estab = '9990001';
  await addEstablishment(db, { estab, name: 'Demo', email: 'office@demo.example' });
  const load = (at?: Date) => importRoster(db, () => openCsvSource(demoPackage(at)), { estab, ...options });
  assert.equal((await load()).outcome, 'done');
  let last: readonly DemoFile[] = base;
  // To and fro in time; the joiner who arrives has gone again 594 slots later.
  for (const slot of [joinerArrives, joinerArrives + 594, november]) {
    const files = driftSchool(base, atSlot(slot));
    const report = await load(atSlot(slot));
    assert.deepEqual([report.outcome, report.problems, report.shrinkage, report.ignored], ['done', [], [], []], `slot ${slot}`);
    const moved = report.added + report.changed + report.removed;
    assert.equal(moved, total(differences(last, files)), `slot ${slot}`);
    last = files;
  }
  const again = await load(atSlot(november, slotMs - 1));
  assert.equal(again.outcome, 'unchanged');
  const back = await load();
  assert.equal(back.outcome, 'done');
  const rows = await db<{ count: number }[]>`select count(*)::int as count from roster_user where estab = ${estab} and status = 'active'`;
  assert.equal(rows[0]?.count, entries(base, 'users').filter(({ status }) => status === '').length);
});
