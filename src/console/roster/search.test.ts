// Finding people, classes and the rest of a roster on the console: by name or id, in any school but this one nobody, however
// large the school, and with a line in the trail that holds none of the words.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useConsole } from '../../../test/console.ts';
import { smallPackage, smallSchool, user } from '../../../test/small-school.ts';
import { findRecords } from '../../rostering/find-records.ts';

const [estab, other, empty] = ['3805101', '3805102', '3805103'];
const hostile = '<img src=x onerror=alert(1)>';
const long = 'x'.repeat(255);
const { service, enter } = await useConsole();
const { db } = service;
await service.addSchool(estab, smallPackage({
  users: [
    ...smallSchool.users,
    user('u-zoe', 'student', { givenName: 'Zoë', familyName: 'Öztürk', grades: '07' }),
    user('u-berg', 'student', { givenName: 'Jan Willem', familyName: 'van der Berg' }),
    user('u-lee', 'student', { givenName: 'Lee', familyName: 'Ada' }),
    user('u-ada', 'teacher', { givenName: 'Ada', familyName: 'Lee' }),
    user('u-signs', 'student', { givenName: '100% O\'Under_\\score', familyName: 'İpek-Straße مريم' }),
    user('u/1%2F', 'student', { givenName: hostile, familyName: `Hostile"'&` }),
    user(long, 'parent', { givenName: 'Y'.repeat(4000), familyName: 'Z'.repeat(4000) }),
    ...Array.from({ length: 60 }, (_, at) => user(`many-${String(at).padStart(3, '0')}`, 'student', { givenName: `Nr${at}`, familyName: 'Many' })),
  ],
}));
await service.addSchool(other, smallPackage({ users: [...smallSchool.users, user('only-there', 'student', { familyName: 'Onlythere' })] }));
await service.addSchool(empty);
const [admin, viewer] = [await enter('admin'), await enter('viewer')];

const ids = async (...asked: [words: string, kind?: 'student' | 'teacher' | 'class' | 'staff']) =>
  (await findRecords(db, estab, ...asked)).records.map(({ sourcedId }) => sourcedId);
const look = (query: string, at = estab) => admin.get(`/console/schools/${at}/roster${query}`);

test('by the beginning of a name, in any case, with or without accents, given and family name in either order', async () => {
  for (const words of ['öz', 'OZTURK', 'zo', 'Zoë', 'zoe ozt', 'Öztürk, Zoë', 'ozturk z', '  zoe   ozturk '])
    assert.deepEqual(await ids(words), ['u-zoe'], words);
  for (const words of ['100%', "100% o'UNDER_", "100% o'under_\\s", 'ipek-straß', 'İPEK', 'I\u0307pek-Straße مر'])
    assert.deepEqual(await ids(words), ['u-signs'], words);
  assert.deepEqual(await ids("100% o'underX"), []);
  for (const words of ['van der b', 'jan willem', 'jan willem van der berg', 'van der berg jan', 'Berg']) {
    assert.deepEqual(await ids(words), words === 'Berg' ? [] : ['u-berg'], words);
  }
  assert.deepEqual(await ids('ada lee'), ['u-lee', 'u-ada']);
  assert.deepEqual(await ids('ada lee', 'teacher'), ['u-ada']);
  assert.deepEqual(await ids('7x'), ['k1']);
  assert.deepEqual(await ids('ma1'), ['k1'], 'a class by its code');
  assert.deepEqual((await ids('7')).toSorted(), ['g1', 'g2', 'k1']);
  for (const nothing of ['%', '_', "' or 1=1", '\\', '\u0301', 'onlythere', 'only-there']) assert.deepEqual(await ids(nothing), [], nothing);
});

test('an exact id comes first, and whatever has one is found by it', async () => {
  assert.deepEqual(await ids('p1'), ['p1']);
  for (const [id, collection] of [['c1', 'courses'], ['o1', 'orgs'], ['t1', 'academicSessions'], ['e4', 'enrollments'], ['u/1%2F', 'users'], [long, 'users']]) {
    const [first] = (await findRecords(db, estab, id ?? '')).records;
    assert.deepEqual([first?.sourcedId, first?.collection], [id, collection]);
  }
  assert.equal((await ids('many-01')).length, 10);
  assert.deepEqual(await ids('many-011', 'staff'), []);
});

test('what is shown is bounded, and says that there is more', async () => {
  const { records, next } = await findRecords(db, estab, 'many');
  assert.deepEqual([records.length, next], [50, '1.users.many-053']);
  const { text } = await look('?q=many');
  assert.match(text, /The first 50/);
  assert.equal(text.match(/<tr role="row"><td/g)?.length, 50);
  const way = /id="found"[^]*href="([^"]*after=[^"]*)" rel="next"/.exec(text)?.[1]?.replaceAll('&#38;', '&') ?? assert.fail('there is a way on');
  const rest = (await admin.get(way)).text;
  assert.equal(rest.match(/<tr role="row"><td/g)?.length, 10);
  assert.match(rest, /The last 10 records[^]*href="\/console\/schools\/3805101\/roster\?q=many">First page/);
  assert.doesNotMatch(rest, /rel="next"/);
  assert.deepEqual(await findRecords(db, estab, ''), { records: [], next: undefined });
  assert.equal((await findRecords(db, estab, '', 'teacher')).records.length, 2);
});

test('page by page each is found once, however they are found, and none is left out', async () => {
  const at = '3805104';
  const pad = (number: number) => String(number).padStart(4, '0');
  // Found by id and by name, by both names at once, by id among many of another kind, and with signs that sort otherwise by bytes.
  const [few, crowd] = [{ givenName: 'Ab Ab', familyName: 'Ab' }, { givenName: 'X', familyName: 'Y' }];
  await service.addSchool(at, smallPackage({
    users: [
      ...smallSchool.users,
      ...Array.from({ length: 130 }, (_, n) => user(`ab${pad(n)}`, n % 3 === 0 ? 'teacher' : 'student', n % 2 === 0 ? few : crowd)),
      ...['\uffee', '\u{1f600}', 'z'].map((sign) => user(`q${sign}`, 'student', { givenName: sign, familyName: `Ab${sign}` })),
      user('ab', 'student', few),
      ...Array.from({ length: 2100 }, (_, n) => user(`zz${pad(n)}`, n % 700 === 699 ? 'teacher' : 'student', crowd)),
    ],
  }));
  const walk = async (words: string, kind?: 'student' | 'teacher') => {
    const [seen, sizes]: [string[], number[]] = [[], []];
    for (let next: string | undefined = ''; next !== undefined; ) {
      const page = await findRecords(db, at, words, kind, next);
      seen.push(...page.records.map(({ sourcedId }) => sourcedId));
      sizes.push(page.records.length);
      next = page.next;
      assert.ok(sizes.length < 60, 'it ends');
    }
    assert.equal(new Set(seen).size, seen.length, `${words}: none twice`);
    return { seen, sizes };
  };
  const all = await walk('ab');
  assert.deepEqual([all.seen[0], all.seen.length, all.sizes], ['ab', 134, [50, 50, 34]]);
  assert.equal((await walk('ab ab')).seen.length, 66);
  assert.equal((await walk('ab', 'teacher')).seen.length, 44);
  assert.deepEqual((await walk('zz', 'teacher')).seen, ['zz0699', 'zz1399', 'zz2099']);
  assert.equal((await walk('zz')).seen.length, 2100);
  assert.equal((await walk('', 'student')).seen.length, 2100 - 3 + 86 + 3 + 1 + 4);
  for (const none of ['1.users.nobody', '1.nothing.x', '9.users.p1', 'x', '1.users.'])
    assert.equal((await findRecords(db, at, 'ab', undefined, none)).records[0]?.sourcedId, 'ab', none);
});

test('the page shows kind, year group and status, escapes what a file said, and works for a viewer', async () => {
  const { text, headers } = await look('?q=zoe');
  assert.match(text, /<a href="\/console\/schools\/3805101\/roster\/users\/u-zoe"><bdi>Zoë Öztürk<\/bdi><\/a>/);
  assert.match(text, />Pupil<[^]*>Student<[^]*<bdi>07<\/bdi>[^]*Active/);
  assert.match(headers.get('content-security-policy') ?? '', /script-src 'self'/);
  const { text: escaped } = await viewer.get(`/console/schools/${estab}/roster?q=${encodeURIComponent(hostile.slice(0, 8))}`);
  assert.ok(escaped.includes('&#60;img src=x onerror=alert(1)&#62; Hostile&#34;&#39;&#38;'), 'as text');
  assert.ok(escaped.includes(`/roster/users/${encodeURIComponent('u/1%2F')}"`));
  assert.ok(!escaped.includes('<img'));
});

test('whatever stands in the address, it is a page', async () => {
  for (const query of ['?q=', '?kind=nobody', '?q=%F0%9F%98%80', `?q=${'ab '.repeat(300)}`, '?q=a&q=b', '?kind=class&q=', '?q=%C3%A9&after=x', '?q=%ED%95%9C'])
    assert.equal((await look(query)).status, 200, query);
  assert.equal((await look('?q=%00')).status, 400);
  assert.equal((await look('?q=%ff')).status, 400);
  assert.equal((await look('?q=x', 'nowhere')).status, 404);
  assert.match((await look('')).text, /<b>69<\/b> <a href="\/console\/schools\/3805101\/roster\?kind=student">Pupils<\/a>/);
  await db`update roster_total set count = count - 4 where estab = ${estab} and collection = 'users' and kind = 'student' and status = 'active'`;
  await db`insert into roster_total (estab, collection, kind, status, count) values (${estab}, 'users', 'student', 'tobedeleted', 4)`;
  assert.match((await look('')).text, /<b>65<\/b> <a [^>]*>Pupils<\/a>\s*<span class="quiet">and 4 to be deleted/, 'as many as the page of the school says');
  assert.match((await look('?q=nobody%20here')).text, /Nothing begins with <bdi>“nobody here”/);
  assert.match((await look('', empty)).text, /This school has no data yet[^]*\/console\/schools\/3805103\/source/);
  assert.match((await look('?q=x', empty)).text, /This school has no data yet/);
});

test('the searches of a while are one line of the trail, without the words', async () => {
  const searcher = await enter('viewer', 'searcher');
  for (const words of ['z', 'zo', 'zoe']) await searcher.get(`/console/schools/${estab}/roster?q=${words}`);
  await searcher.get(`/console/schools/${other}/roster?q=zoe`);
  await searcher.get(`/console/schools/${other}/roster`);
  const lines = await db`select estab, action, subject, outcome, via, detail from audit_event where actor = 'searcher' order by number`;
  assert.deepEqual(lines.map(({ detail, ...line }) => [...Object.values(line), detail]), [
    [estab, 'search roster', null, 'done', 'console', { times: 3 }],
    [other, 'search roster', null, 'done', 'console', { times: 1 }],
  ]);
  await db`update audit_event set at = at - interval '11 minutes' where actor = 'searcher'`;
  await searcher.get(`/console/schools/${estab}/roster?q=z`);
  assert.equal((await db`select from audit_event where actor = 'searcher' and estab = ${estab}`).length, 2);
});
