// A record of a roster on the console: its fields, references both ways, JSON of each dialect, where it came from, who sees it;
// whatever its id looks like, to be deleted or purged; and every look in the trail.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { purgeRosters } from '../../../test/all-schools.ts';
import { readToEnd, useConsole } from '../../../test/console.ts';
import { earlier } from '../../../test/earlier.ts';
import { root12, rootA, rootB } from '../../../test/service.ts';
import { enrolment, schoolClass, smallPackage, smallSchool, user } from '../../../test/small-school.ts';
import { createPseudonym } from '../../access/pseudonym.ts';
import { createForgetPeople } from '../../forget.ts';
import { collections } from '../../roster/collections.ts';
import { notFollowed, relations } from '../../rostering/related-records.ts';

const estab = '3805111';
const odd = ['a/b', '100%25', 'a%2Fb', 'ünï çödé', '<b>"\'&', 'x'.repeat(255), 'a?b=c#d', "it's;", '漢字', '.', '..', '~', '~.', '~~x', '%2e', '...'];
const { service, enter } = await useConsole();
const { db, url } = service;
const files = {
  ...smallSchool,
  users: [
    ...smallSchool.users.filter(({ sourcedId }) => sourcedId !== 'p1'),
    user('p1', 'student', {
      givenName: '<b>Bo</b>', familyName: 'One', grades: '07', agentSourcedIds: 'a2', 'metadata.tutorGroup': '7A', userIds: '{UPN:A123},{<i>:<s>}',
    }),
    ...odd.map((id) => user(id, 'student', { username: `odd ${odd.indexOf(id)}`, familyName: `Odd ${id.slice(0, 9)}` })),
  ],
  classes: [...smallSchool.classes, schoolClass('big', 'Big')],
  enrollments: [
    ...smallSchool.enrollments,
    ...odd.map((id, at) => enrolment(`odd-${at}`, id, 'big')),
    ...smallSchool.users.map(({ sourcedId = '', role = '' }) => enrolment(`big-${sourcedId}`, sourcedId, 'big', { role })),
  ],
  demographics: [{ sourcedId: 'p1', birthDate: '2014-02-03' }],
};
await service.addSchool(estab, smallPackage(files));
const [admin, viewer] = [await enter('admin'), await enter('viewer')];
await service.addClient('sees-all', [estab]);
await service.addClient('sees-staff', [estab], 'School,Staff');
const path = (collection: string, id: string, rest = '') =>
  `/console/schools/${estab}/roster/${collection}/${encodeURIComponent(/^(\.\.?$|~)/.test(id) ? `~${id}` : id)}${rest}`;
const read = async (collection: string, id: string, rest = '') => {
  const page = await admin.get(path(collection, id, rest));
  assert.equal(page.status, 200, `${collection} ${id} ${rest}: ${page.status}`);
  return page.text;
};
const linksTo = (text: string, collection: string, id: string) => text.includes(`href="${path(collection, id).replaceAll("'", '&#39;')}"`);

test('fields by their plain names, as text whatever they hold', async () => {
  const text = await read('users', 'p1');
  assert.match(text, /<h1><bdi>&#60;b&#62;Bo&#60;\/b&#62; One<\/bdi> <span class="badge good">Active<\/span><\/h1>/);
  assert.match(text, /First name<\/div>[^]*&#60;b&#62;Bo[^]*<code>givenName<\/code>/);
  assert.match(text, /Tutor group<\/div>[^]*<bdi>7A<\/bdi>[^]*<code>metadata\.tutorGroup<\/code>/);
  assert.match(text, /Unique pupil number \(UPN\): <bdi>A123<\/bdi>/);
  assert.match(text, /Middle names<\/div><\/td><td[^>]*><div><span class="quiet">–<\/span>/);
  assert.ok(!/<b>Bo|<i>|<s>|your system|you share/.test(text));
});

test('references are followed both ways', async () => {
  const pupil = await read('users', 'p1');
  for (const [collection, id] of [['users', 'a2'], ['users', 'a1'], ['orgs', 'o1'], ['classes', 'g1'], ['classes', 'k1'], ['demographics', 'p1']] as const)
    assert.ok(linksTo(pupil, collection, id), `${collection} ${id}`);
  const group = await read('classes', 'g1');
  for (const [collection, id] of [['users', 'p1'], ['users', 's1'], ['courses', 'c1'], ['academicSessions', 't1'], ['orgs', 'o1']] as const)
    assert.ok(linksTo(group, collection, id), `${collection} ${id}`);
  assert.match(group, /Teachers and staff[^]*s1[^]*Pupils/);
  for (const [collection, id, to] of [
    ['orgs', 'o1', 'classes/g1'], ['orgs', 'o1', 'courses/c1'], ['courses', 'c1', 'classes/k1'], ['academicSessions', 't1', 'classes/g1'],
    ['academicSessions', 'y1', 'academicSessions/t1'], ['academicSessions', 't1', 'academicSessions/y1'], ['enrollments', 'e1', 'users/p1'],
    ['enrollments', 'e1', 'classes/g1'], ['demographics', 'p1', 'users/p1'],
  ] as const)
    assert.ok((await read(collection, id)).includes(`/roster/${to}"`), `${collection} ${id} → ${to}`);
});

test('every reference of a record is followed back, or it is said why not', () => {
  for (const { collection, fields } of Object.values(collections))
    for (const { name, to, csv } of fields) {
      if (!to || csv === undefined) continue;
      const followed = relations.some((one) => one.to === to && one.collection === collection && one.fields.includes(name));
      assert.equal(followed, !notFollowed.includes(`${collection}.${name}`), `${collection}.${name}`);
    }
});

test('a long list is bounded, and goes on page by page', async () => {
  const first = await read('classes', 'big');
  assert.match(first, /href="[^"]*\?view=list&#38;list=pupils">All of these/);
  await db`insert into roster_enrollment (estab, sourced_id, kind, status, version, class_id, school_id, user_id, role, record)
    select ${estab}, 'more-' || lpad(n::text, 3, '0'), 'student', 'active', 1, 'big', 'o1', 'p1', 'student', '' from generate_series(1, 60) n`;
  const pages = await readToEnd(admin, path('classes', 'big', '?view=list&list=pupils'));
  const seen = pages.flatMap((text) => [...text.matchAll(/roster\/enrollments\/([^"]+)"/g)].map(([, id = '']) => id));
  const own = await db<{ id: string }[]>`select sourced_id as id from roster_enrollment where estab = ${estab} and class_id = 'big' and kind = 'student'`;
  assert.deepEqual(seen.toSorted(), own.map(({ id }) => id).toSorted());
  await db`delete from roster_enrollment where estab = ${estab} and sourced_id like 'more-%'`;
  assert.equal((await admin.get(path('classes', 'big', '?view=list&list=nothing'))).status, 404);
  assert.equal((await admin.get(path('classes', 'big', '?view=list&list=pupils&after=zzz'))).status, 200);
  assert.equal((await admin.get(path('classes', 'big', '?view=unheard-of'))).status, 200);
});

test('an id may be anything that an id may be', async () => {
  for (const id of odd) {
    for (const rest of ['', '?view=json', '?view=application', '?view=application&rp=sees-all', '/history', '/attendance']) {
      const text = await read('users', id, rest);
      assert.ok(!text.includes('<b>"'), 'as text');
      assert.ok(rest === '?view=json' || linksTo(text, 'users', id), `${id} ${rest}`);
    }
  }
  for (const [collection, id] of [['users', 'nobody'], ['people', 'p1'], ['constructor', 'p1'], ['users', '\0'], ['users', 'x'.repeat(2000)]] as const)
    for (const rest of ['', '/history', '/attendance']) assert.equal((await admin.get(path(collection, id, rest))).status, 404, `${collection} ${id}`);
  assert.equal((await admin.get('/console/schools/nowhere/roster/users/p1')).status, 404);
});

test('the JSON is what each dialect answers, byte for byte after parsing', async () => {
  const client = await service.addClient('compares', [estab]);
  const all = [['users', 'p1'], ['classes', 'k1'], ['orgs', 'o1'], ['enrollments', 'e4'], ['academicSessions', 'y1'], ['courses', 'c1']] as const;
  for (const [collection, id] of all) {
    const text = await read(collection, id, '?view=json');
    const shown = [...text.matchAll(/<pre[^>]*><code>([^<]*)<\/code>/g)].map(([, json = '']) => JSON.parse(unescape(json)) as unknown);
    const path = `/${collection}/${id}`;
    const answers = [await client.a(path), await client.b(estab, path), await client.v12(estab, path)];
    const records = [];
    for (const answer of answers) records.push(Object.values((await answer.json()) as Record<string, unknown>)[0]);
    assert.deepEqual(shown, records);
    for (const root of [rootA, rootB, root12]) assert.ok(text.includes(`GET ${root}${path}`));
  }
  const details = await read('demographics', 'p1', '?view=json');
  assert.match(details, /Variant A[^]*does not offer such records[^]*Variant B[^]*2014-02-03/);
  assert.deepEqual(await db`select from disclosure where estab = ${estab} and rp <> 'compares'`, [], 'nothing was disclosed to anybody by looking');
});

const unescape = (text: string) => text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));

test('where it came from, and who sees it', async () => {
  const text = await read('users', 'p1');
  const [run] = await db<{ id: string }[]>`select id from import_run where estab = ${estab} order by started_at limit 1`;
  assert.match(text, new RegExp(`users\\.csv, line ${smallSchool.users.length + 1}<`));
  assert.ok(text.includes(`/console/schools/${estab}/imports/${run?.id}`));
  assert.match(text, /Application sees-all<[^]*Sees it[^]*Application sees-staff<[^]*Hidden[^]*Student would open it/);
  assert.ok(!text.includes('No application sees'));
});

test('every look is in the trail, whoever looks', async () => {
  await db`delete from audit_event`;
  for (const rest of ['', '?view=json', '?view=application&rp=sees-all', '/history', '/attendance']) await viewer.get(path('users', 'a/b', rest));
  await viewer.get(path('users', 'nobody'));
  const lines = await db`select actor, action, estab, rp, subject, outcome from audit_event order by number`;
  assert.deepEqual(lines.map((line) => Object.values(line)), [
    ['viewer', 'look at record', estab, null, 'users/a/b', 'done'],
    ['viewer', 'look at record', estab, null, 'users/a/b', 'done'],
    ['viewer', 'look at record as application', estab, 'sees-all', 'users/a/b', 'done'],
    ['viewer', 'look at history of record', estab, null, 'users/a/b', 'done'],
    ['viewer', 'look at attendance', estab, null, 'users/a/b', 'done'],
  ]);
});

test('one to be deleted says so; one that was purged is gone, or, of a thing, shows how it stood last', async () => {
  const without = <T extends { sourcedId?: string }>(rows: readonly T[], gone: string) => rows.filter(({ sourcedId }) => sourcedId !== gone);
  const left = { ...files, classes: without(files.classes, 'g2'), users: without(files.users, 'p3') };
  const leaving = smallPackage({ ...left, enrollments: files.enrollments.filter(({ userSourcedId }) => userSourcedId !== 'p3') });
  assert.equal((await service.load(estab, leaving, { approve: true })).outcome, 'done');
  assert.match(await read('users', 'p3'), /<span class="badge wait">To be deleted<\/span><\/h1>/);
  assert.match((await admin.get(`/console/schools/${estab}/roster?q=given%20p3`)).text, /To be deleted/);
  await db`update roster_version set instant = ${earlier(db, 'instant', '91 days')} where estab = ${estab}`;
  assert.ok((await purgeRosters(db, 90, createForgetPeople(createPseudonym(['a key of a test'])))) > 0);
  const gone = await admin.get(path('users', 'p3'));
  assert.equal(gone.status, 404);
  assert.match(gone.text, /was purged/);
  assert.ok(!gone.text.includes('Given p3'));
  const thing = await read('classes', 'g2');
  assert.match(thing, /<span class="badge bad">Purged<\/span><\/h1>[^]*left the roster for good/);
  assert.match(await read('classes', 'g2', '?view=application&rp=sees-all'), /It was purged/);
  assert.match(await read('classes', 'g2', '?view=json'), /It is refused: There is no such record/);
  assert.match(await read('classes', 'g2', '/history'), /tobedeleted/);
  assert.deepEqual((await admin.get(`/console/schools/${estab}/roster?q=p3`)).text.includes('Given p3'), false);
  assert.equal((await fetch(`${url}/search.js`)).headers.get('content-type'), 'text/javascript; charset=utf-8');
});
