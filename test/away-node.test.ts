// What a school needs goes on while the node of others has ended, or says nothing: it is imported, collected and purged, marks are written, calls
// made, its people sign in, and operators see it. It needs TEST_CITUS_URL.
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHashPool } from '../src/access/hash-pool.ts';
import { setConnector } from '../src/collection/connector-settings.ts';
import { purgeRoster } from '../src/collection/purge.ts';
import { readNodeLoads } from '../src/db/node-load.ts';
import { forgetAtSchool } from '../src/forget.ts';
import { inboxUrl } from '../src/notifications/inbox/address.ts';
import { addInbox } from '../src/notifications/inbox/inboxes.ts';
import { enter } from './console.ts';
import { csvPackage } from './csv-package.ts';
import { cutNodes } from './cut-nodes.ts';
import { useReceiver } from './delivery.ts';
import { signIn, useIdentity, withOffice } from './identity.ts';
import { zip } from './onboarding.ts';
import { attendanceCsv, smallSchool, user } from './small-school.ts';
import { citusUrl, useSpreadDatabase } from './spread-database.ts';
import { until } from './until.ts';
import { addOperator, createVisitor, goodPassword } from './visitor.ts';

const estab = 'one';
const operator = 'ada@trust.example';
const forgetNobody = async () => async () => {};
const pupils = (count: number) => Array.from({ length: count }, (_, at) => user(`n${at}`, 'student'));

suite('on a real cluster', { skip: citusUrl === undefined && 'TEST_CITUS_URL names no cluster' }, () => {
  for (const state of ['ended', 'silent'] as const) test(`a school needs no node but its own: others are ${state}`, { timeout: 600_000 }, async () => {
    const database = await useSpreadDatabase(citusUrl ?? '');
    const nodes = await cutNodes(database.db);
    after(() => nodes.forEach((node) => node.close()));
    const hashing = createHashPool({ threads: 1, longestWaitMs: 120_000, longestTurnMs: 60_000 });
    const { service, db, url, client, answer, makeLogin, person } = await useIdentity({ OUTBOUND_ALLOW: '127.0.0.0/8' }, { database, hashing });
    const [own] = await db<{ group: number }[]>`
      select groupid as group from pg_dist_placement where shardid = get_shard_id_for_distribution_column('roster', ${estab}::text)`;
    const office = await enter(service, 'admin');
    const username = (await makeLogin('Given s1')).UserName;
    const [receiver, inbox] = [await useReceiver(), await addInbox(db, service.seal, { rp: 'app', name: 'Inbox', answer: '200' })];
    const folder = join(service.dataDir, 'export');
    mkdirSync(folder);
    await db.begin((tx) => setConnector(tx, service.seal, estab, { kind: 'csv', folder }));
    await addOperator(db, operator);
    await service.work();
    const called = (path: string) => until(`${path} is called`, () => receiver.arrivals.some(({ url: asked }) => asked === path));
    const collects = (expected: string) => until(`it is ${expected}`, async () => (await db`
      select from component_database where estab = ${estab} and name = 'SchoolData' and status = ${expected} and refreshing_since is null`).length > 0);
    assert.ok(nodes.length > 1, 'there are others');
    for (const node of nodes) if (node.group !== own?.group) await node.set(state);

    const failed: string[] = [];
    const goesOn = async (what: string, work: () => Promise<unknown>) => {
      await work().catch((error: unknown) => failed.push(`${what}: ${error instanceof Error ? error.message : String(error)}`));
    };
    const load = async (given: ReturnType<typeof csvPackage>, expected: string, options = {}) =>
      assert.equal((await service.load(estab, given, options)).outcome, expected);
    const users = [...smallSchool.users, ...pupils(700)];
    const marks = attendanceCsv('p1,2026-11-12,AM,/,,', 'nobody,2026-11-12,AM,/,,');
    const wrong = { ...smallSchool, users: [...users, user('n1', 'student'), user('x', 'student', { orgSourcedIds: 'nowhere' }), user('y', 'student')] };

    await goesOn('a large import', () => load(csvPackage({ ...smallSchool, users }), 'done'));
    await goesOn('the same again', () => load(csvPackage({ ...smallSchool, users }), 'unchanged'));
    await goesOn('one that is refused', () => load(csvPackage(wrong, { raw: { 'attendance.csv': marks } }), 'refused'));
    await goesOn('what is wrong is left out', () => load(csvPackage(wrong, { raw: { 'attendance.csv': marks } }), 'done', { partial: true }));
    await goesOn('one that is held', () => load(csvPackage({ ...smallSchool, users: [...smallSchool.users, ...pupils(100)] }), 'held'));
    await goesOn('one that is forced', () => load(withOffice(pupils(20)), 'done', { force: true }));
    await goesOn('a purge', async () => assert.ok((await purgeRoster(db, estab, 0, forgetNobody)) > 0));
    await goesOn('what is over age', () => forgetAtSchool(db, { purgeAfterDays: 0 }, estab));

    await goesOn('a collection that somebody waits for', async () => {
      writeFileSync(join(folder, 'roster.zip'), await zip(withOffice(pupils(21))));
      await db`update component_database set expires_at = ${new Date(0)} where estab = ${estab}`;
      assert.equal((await client.s(estab, `Students?callbackUrl=${encodeURIComponent(`${receiver.origin}/ready`)}`)).status, 202);
      await called('/ready');
      await collects('OK');
      const { Students } = (await (await client.s(estab, 'Students')).json()) as { Students: { Id: string }[] };
      assert.ok(Students.some(({ Id }) => Id === 'n20'), 'what the folder has came');
    });
    await goesOn('a page', async () => assert.equal((await client.b(estab, '/users?limit=3&sort=familyName')).status, 200));
    await goesOn('a whole list', async () => assert.equal((await (await client.b(estab, '/users')).json() as { users: unknown[] }).users.length > 20, true));
    await goesOn('a list of 1.2', async () => assert.equal((await client.v12(estab, '/users')).status, 200));
    await goesOn('school data', async () => assert.equal((await client.s(estab, 'Students')).status, 200));
    await goesOn('a registration', async () => {
      const body = JSON.stringify({ url: `${receiver.origin}/changed`, DatabaseName: 'Attendance' });
      assert.equal((await client.s(estab, 'Webhook', { method: 'POST', body })).status, 201);
    });
    await goesOn('a mark that is written', async () => {
      const Marks = [{ StudentId: 'p1', MarkType: 'S', Date: '2026-11-13', Session: 'AM', Mark: 'I' }];
      const written = await client.s(estab, `School/${estab}/Attendance`, { method: 'POST', body: JSON.stringify({ Marks }) });
      assert.match(await written.text(), /"Status":"Completed"/);
      await called('/changed');
    });
    await goesOn('a call to an inbox', async () => assert.equal((await fetch(inboxUrl(url, inbox.key), { method: 'POST', body: 'x' })).status, 200));
    await goesOn('a login', async () => assert.ok((await person('Given s1')).UserName));
    await goesOn('a password', () => answer('ResetPassword', { query: { username, password: 'seven green lanterns' } }));
    await goesOn('a sign-in', async () => assert.equal((await signIn(url, estab, username, 'seven green lanterns')).status, 303));
    await goesOn('a wrong password', async () => assert.equal((await signIn(url, estab, username, 'something else')).status, 401));

    await goesOn('an operator who signs in', async () => {
      const visitor = createVisitor(url);
      await visitor.open('/console/sign-in');
      assert.equal((await visitor.send('/console/sign-in', { name: operator, password: 'something else' })).status, 401);
      assert.equal((await visitor.send('/console/sign-in', { name: operator, password: goodPassword })).status, 303);
    });
    await goesOn('how the nodes are doing', async () => {
      const loads = await readNodeLoads(db);
      assert.deepEqual(loads.filter(({ answers }) => !answers).length, nodes.length - 1);
    });
    for (const path of ['/console', '/console/schools', `/console/schools/${estab}`, '/console/deliveries', '/console/applications', '/console/work'])
      await goesOn(path, async () => assert.equal((await office.get(path)).status, 200));
    await goesOn('what was asked', async () => {
      await service.lines.write();
      const [row] = await db<{ count: number }[]>`select count(*)::int as count from request_line where estab = ${estab}`;
      assert.ok((row?.count ?? 0) > 0);
    });
    // So that whoever waits for one does not keep the database from being dropped.
    for (const node of nodes) await node.set('there');
    assert.deepEqual(failed, []);
  });
});
