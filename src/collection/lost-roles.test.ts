// The deletion guard where people have several roles: who loses which, who goes, what a person is told of it, and what an approval covers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvPackage } from '../../test/csv-package.ts';
import { useService } from '../../test/service.ts';
import { openCsvSource } from './connectors/csv/csv-source.ts';
import { findHeld, listLosses } from './held.ts';
import { importRoster } from './import.ts';
import { describeShrinkage } from './import-report.ts';
import { listLeaving } from './leaving.ts';

const { db, dataDir, addSchool } = await useService();
const ids = Array.from({ length: 60 }, (_, at) => `u${String(at).padStart(2, '0')}`);
let schools = 0;

/** The roles of the person at that place; undefined: the person is not there. */
type RolesAt = (at: number) => readonly string[] | undefined;

function pack(rolesAt: RolesAt) {
  const people = ids.flatMap((id, at) => {
    const roles = rolesAt(at);
    return roles ? [{ id, roles }] : [];
  });
  return csvPackage({
    orgs: ['o0', 'o1', 'o2'].map((sourcedId) => ({ sourcedId, name: sourcedId, type: 'school' })),
    users: people.map(({ id }) => ({ sourcedId: id, enabledUser: 'true', username: id, givenName: 'G', familyName: id })),
    roles: people.flatMap(({ id, roles }) =>
      roles.map((role, at) => ({ sourcedId: `${id}-${at}`, userSourcedId: id, roleType: 'primary', role, orgSourcedId: `o${at}` })),
    ),
  }, { edition: 'v1p2' });
}

async function newSchool(rolesAt: RolesAt) {
  const estab = `L${(schools += 1)}`;
  assert.equal((await addSchool(estab, pack(rolesAt)))?.outcome, 'done');
  return async (next: RolesAt, approved?: string) => {
    const id = crypto.randomUUID();
    const report = await importRoster(db, () => openCsvSource(pack(next)), {
      estab, dataDir, partial: false, force: false, shrinkLimitPercent: 20, id, ...(approved === undefined ? {} : { approved }),
    });
    return { id, estab, outcome: report.outcome, why: describeShrinkage(report.shrinkage), counts: [report.changed, report.removed] };
  };
}

const losses = async (estab: string, run: string) =>
  (await listLosses(db, estab, run)).map(({ role, stays, total, names }) => [role, stays, total, names.length]);

test('who was shown to lose a role does not go by that approval; who was shown to go may also stay without the role', async () => {
  const load = await newSchool(() => ['teacher', 'parent']);
  const lessen: RolesAt = (at) => (at < 20 ? ['teacher'] : ['teacher', 'parent']);
  const leave: RolesAt = (at) => (at < 20 ? undefined : ['teacher', 'parent']);
  const lessened = await load(lessen);
  assert.deepEqual([lessened.outcome, lessened.why], ['held', '20 of 60 parent users (33.3 %) would lose that role']);
  assert.deepEqual(await losses(lessened.estab, lessened.id), [['parent', true, 20, 20]]);
  const left = await load(leave, lessened.id);
  assert.deepEqual([left.outcome, left.why], ['held', '20 of 60 parent users (33.3 %), 20 of 60 teacher users (33.3 %) would be deleted']);
  assert.deepEqual(await losses(left.estab, left.id), [['teacher', false, 20, 20]]);
  const done = await load(lessen, left.id);
  assert.deepEqual([done.outcome, done.counts], ['done', [20, 0]]);
});

test('who loses several roles counts and is listed for each, and each has to have been seen', async () => {
  const load = await newSchool((at) => (at < 40 ? ['teacher', 'aide', 'parent'] : ['teacher', 'parent']));
  const cut: RolesAt = (at) => (at < 40 ? ['teacher'] : ['teacher', 'parent']);
  const held = await load(cut);
  assert.deepEqual([held.outcome, held.why], ['held', '40 of 40 aide users (100 %), 40 of 60 parent users (66.7 %) would lose that role']);
  assert.deepEqual(await losses(held.estab, held.id), [['aide', true, 40, 40], ['parent', true, 40, 40]]);
  const list = (role: string, stays?: boolean) => listLeaving(db, held.estab, held.id, { collection: 'users', role, stays, most: 100 });
  assert.deepEqual((await list('parent', true)).leaving[0], { sourcedId: 'u00', role: 'aide', loses: ['aide', 'parent'], name: 'G u00' });
  assert.deepEqual([(await list('aide')).leaving.length, (await list('parent', false)).leaving.length], [40, 0]);
  const other = await load((at) => (at < 40 ? ['aide', 'parent'] : ['teacher', 'parent']), held.id);
  assert.deepEqual([other.outcome, other.why], ['held', '40 of 60 teacher users (66.7 %) would lose that role']);
  assert.equal((await load(cut, (await load(cut)).id)).outcome, 'done');
});

test('who leaves and who loses a role are added up for that role', async () => {
  const load = await newSchool((at) => (at < 30 ? ['teacher', 'teacher'] : ['teacher']));
  const cut: RolesAt = (at) => (at >= 49 ? undefined : at < 11 || at >= 30 ? ['teacher'] : ['teacher', 'teacher']);
  const held = await load(cut);
  assert.deepEqual([held.outcome, held.why], ['held', '22 of 60 teacher users (36.7 %) would be deleted or lose that role']);
  assert.deepEqual(await losses(held.estab, held.id), [['teacher', false, 11, 11], ['teacher', true, 11, 11]]);
  assert.equal((await findHeld(db, held.estab))?.shrinkage[0]?.staying, 11);
  const done = await load(cut, held.id);
  assert.deepEqual([done.outcome, done.counts], ['done', [11, 11]]);
});
