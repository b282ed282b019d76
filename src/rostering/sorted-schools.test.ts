// Covers sorted lists over several schools with more records than are held at once: what is answered wherever it begins, how many statements
// that takes, whose connections it takes, and how a replica that is behind is waited for.
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { test } from 'node:test';
import { byName } from '../../test/dialects.ts';
import { loadSource, madeUpSource, type Given } from '../../test/made-up-source.ts';
import { readAnswer } from '../../test/read-answer.ts';
import { useService } from '../../test/service.ts';
import { policies } from '../db/policies.ts';
import { mostHeld } from './merge-schools.ts';

const service = await useService();
const estabs = ['a-school', 'B-school', 'c.school'];
/** Twice as many as are read of a school at first. */
const coursesOfEach = 4_000;
const total = coursesOfEach * estabs.length;
const titles = ['Öl', 'Art', 'art', 'Ўлi', 'Zoo', '\u{1f600}', 'Art-2'];
const subjects = [['Art'], ['Art', 'Ölfarben, "fett"'], [], ['Zoo', '{}']];
assert.ok(total > mostHeld(estabs.length));

const courses = (school: number): Given[] => Array.from({ length: coursesOfEach }, (_, at) => ({
  sourcedId: `c${String(at).padStart(5, '0')}`, title: titles[(at * 3 + school) % titles.length] ?? '', org: 'org',
  subjects: subjects[(at + school) % subjects.length] ?? [],
  ...(at % 5 === 0 ? {} : { courseCode: `k${String((at * 7_919 + school) % 10_007)}` }),
}));
const orgs = [{ sourcedId: 'org', name: 'School', type: 'school' }];
for (const [school, estab] of estabs.entries()) {
  await service.addSchool(estab);
  await loadSource(service, estab, madeUpSource({ orgs, courses: courses(school) }));
}
// The first school has records of two versions, of which the second is the newest of all.
const renewed = courses(0).filter((_, at) => at % 2 === 0).map((one) => ({ ...one, subjects: ['New'] }));
await loadSource(service, 'a-school', madeUpSource({ courses: renewed }, 'delta'));
const client = await service.addClient('sorted', estabs);
const headers = { authorization: `Bearer ${await client.token12()}` };

type Course = { sourcedId: string; title: string; courseCode?: string; subjects?: string[]; dateLastModified: string };
async function read(path: string, more: Record<string, string> = {}) {
  const answer = await readAnswer(`${service.url}${byName['1.2'].root}${path}`, { ...headers, ...more });
  assert.deepEqual([answer.status, answer.fault], [200, undefined], path);
  const records = Object.values(JSON.parse(answer.body.toString()) as Record<string, Course[]>)[0] ?? [];
  return { records, total: Number(answer.headers['x-total-count']), version: String(answer.headers['x-roster-version']) };
}

type Heard = { text: string; pool: string };
/** Of records, as the service asked for them, by pool. */
async function heard(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const statements: Heard[] = [];
  const note = (message: unknown) => statements.push(message as Heard);
  subscribe('schoolbell:statement', note);
  try {
    await work();
  } finally {
    unsubscribe('schoolbell:statement', note);
  }
  const ofRecords = statements.filter(({ text, pool }) => pool !== 'test' && text.includes('"roster_course"'));
  return Object.fromEntries([...Map.groupBy(ofRecords, ({ pool }) => pool)].map(([pool, of]) => [pool, of.length]));
}

/** As the whole list has them: by school, then by id. */
const inOrder = (await read('/courses')).records;
type Key = (course: Course) => readonly string[] | undefined;
const keys: Record<string, Key> = {
  title: ({ title }) => [title],
  courseCode: ({ courseCode }) => (courseCode === undefined ? undefined : [courseCode]),
  subjects: (course) => course.subjects,
  dateLastModified: ({ dateLastModified }) => [dateLastModified],
};

function compare(a: readonly string[] | undefined, b: readonly string[] | undefined, sign: number): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  const at = a.findIndex((item, place) => item !== b[place]);
  if (at < 0 || b[at] === undefined) return sign * (a.length - b.length);
  return sign * Buffer.compare(Buffer.from(a[at] ?? ''), Buffer.from(b[at]));
}

for (const [field, key] of Object.entries(keys)) {
  for (const [orderBy, sign] of [['asc', 1], ['desc', -1]] as const) {
    test(`sorted by ${field}, ${orderBy}: the same records whole, behind most others, and where batches meet`, async () => {
      const expected = inOrder.map((course) => ({ course, key: key(course) })).toSorted((a, b) => compare(a.key, b.key, sign)).map(({ course }) => course);
      const sorted = `/courses?sort=${field}&orderBy=${orderBy}`;
      const whole = await read(sorted);
      assert.deepEqual([whole.total, whole.records.length], [total, total]);
      assert.deepEqual(whole.records, expected);
      for (const [offset, limit] of [[0, 7], [1_660, 1_000], [5_000, 100], [5_001, 100], [9_990, 300], [total - 40, 100], [total, 5]] as const) {
        assert.deepEqual((await read(`${sorted}&offset=${offset}&limit=${limit}`)).records, expected.slice(offset, offset + limit), `${offset} ${limit}`);
      }
      assert.deepEqual((await read(`${sorted}&offset=6500&limit=4000`)).records, expected.slice(6_500, 10_500));
      assert.deepEqual((await read(`${sorted}&offset=${total - 3}`)).records, expected.slice(-3));
    });
  }
}

test('a whole list takes the connections of whole lists, and few statements for each school', async () => {
  const whole = await heard(() => read('/courses?sort=title'));
  assert.deepEqual(Object.keys(whole), [policies.lists.name]);
  assert.ok((whole.lists ?? 0) <= 2 * estabs.length, JSON.stringify(whole));
  const rest = await heard(() => read('/courses?sort=title&offset=7000'));
  assert.deepEqual(Object.keys(rest), [policies.lists.name]);
  assert.ok((rest.lists ?? 0) <= 4 * estabs.length, JSON.stringify(rest));
});

test('a page takes those of small reads, or of searches: three statements for each school wherever it begins, and one less at the begin', async () => {
  const first = await heard(() => read('/courses?sort=title&limit=100'));
  assert.deepEqual([Object.keys(first), (first.reads ?? 0) <= 2 * estabs.length], [[policies.reads.name], true], JSON.stringify(first));
  const deep = await heard(() => read(`/courses?sort=title&limit=100&offset=${total - 200}`));
  assert.deepEqual([Object.keys(deep), (deep.reads ?? 0) <= 3 * estabs.length], [[policies.reads.name], true], JSON.stringify(deep));
  const filter = encodeURIComponent("title='zoo'");
  await read(`/courses?filter=${filter}&limit=1`);
  const filtered = await heard(() => read(`/courses?filter=${filter}&sort=courseCode&limit=100&offset=200`));
  assert.deepEqual([Object.keys(filtered), (filtered.searches ?? 0) <= 2 * estabs.length], [[policies.searches.name], true], JSON.stringify(filtered));
});

test('schools that have nothing of it are not asked for it', async () => {
  const filter = encodeURIComponent("subjects='New'");
  const path = `/courses?filter=${filter}&sort=courseCode&limit=10`;
  assert.equal((await read(path)).total, coursesOfEach / 2);
  assert.deepEqual(await heard(() => read(path)), { searches: 2 });
});

test('pages of a version that has been replaced meanwhile go on where they were', async () => {
  const sorted = '/courses?sort=courseCode&orderBy=desc';
  const before = await read(sorted);
  await loadSource(service, 'B-school', madeUpSource({ courses: courses(1).slice(0, 900).map((one) => ({ ...one, courseCode: 'k00' })) }, 'delta'));
  for (const offset of [0, 4_900, 9_700, total - 500]) {
    const page = await read(`${sorted}&limit=500&offset=${offset}`, { 'if-roster-version': before.version });
    assert.deepEqual(page.records, before.records.slice(offset, offset + 500));
  }
  assert.deepEqual((await read(sorted, { 'if-roster-version': before.version })).records, before.records);
  assert.notDeepEqual((await read(sorted)).records, before.records);
});
