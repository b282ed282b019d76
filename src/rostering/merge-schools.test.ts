// Covers how schools are put together in the order of a sort, with schools that are made up: what is wanted comes in its order wherever it
// begins, what is held stays within its bound, and what is skipped is not read record by record.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { mostHeld, openMerge, type Merging } from './merge-schools.ts';
import { SchoolInOrder, type ReadBehind, type Row } from './school-in-order.ts';
import { compareKeys } from './sort-key.ts';

type Watched = { read: number; reads: number; heldAtMost: number };

const row = (key: number | undefined, at: number): Row => ({ sourcedId: String(at).padStart(6, '0'), key, sortKey: key, json: undefined });

/** Schools whose records are these, and what is asked of them. */
function makeUp(ofEach: readonly (readonly Row[])[]): { schools: SchoolInOrder[]; watched: Watched } {
  const watched = { read: 0, reads: 0, heldAtMost: 0 };
  let asked = 0;
  const schools = ofEach.map((rows, place) => {
    const read: ReadBehind = async (behind, { count, stride }) => {
      asked += count;
      watched.reads += 1;
      watched.read += count;
      watched.heldAtMost = Math.max(watched.heldAtMost, asked + schools.reduce((sum, { held }) => sum + held, 0));
      await Promise.resolve();
      asked -= count;
      const from = behind ? rows.indexOf(behind as Row) + 1 : 0;
      return Array.from({ length: count }, (_, at) => rows[from + (at + 1) * stride - 1]).filter((one) => one !== undefined);
    };
    return new SchoolInOrder(place, rows.length, read);
  });
  return { schools, watched };
}

/** Keys of schools come one after the other's, or all over, or are mostly the same; some are missing. */
const spreads = {
  apart: (school: number, at: number) => school * 100_000 + (at % 977),
  mixed: (school: number, at: number) => (at * 7_919 + school * 31) % 10_007,
  equal: (_: number, at: number) => (at % 11 === 0 ? undefined : at % 3),
};
type Spread = keyof typeof spreads;

function inOrder(sizes: readonly number[], spread: Spread, descending: boolean): Row[][] {
  return sizes.map((size, school) =>
    Array.from({ length: size }, (_, at) => row(spreads[spread](school, at), at)).toSorted(
      (a, b) => compareKeys(a.sortKey, b.sortKey, descending) || (a.sourcedId < b.sourcedId ? -1 : 1),
    ));
}

function putTogether(ofEach: readonly Row[][], descending: boolean): Row[] {
  return ofEach.flatMap((rows, school) => rows.map((one) => ({ one, school })))
    .toSorted((a, b) => compareKeys(a.one.sortKey, b.one.sortKey, descending) || a.school - b.school || (a.one.sourcedId < b.one.sourcedId ? -1 : 1))
    .map(({ one }) => one);
}

async function readAll(schools: readonly SchoolInOrder[], how: Pick<Merging, 'skip' | 'limit' | 'descending'>): Promise<Row[]> {
  const merge = await openMerge(schools, { ...how, withRecords: false, atOnce: 4 });
  const all: Row[] = [];
  for (let taken = await merge(1_000); taken.length > 0; taken = await merge(1_000)) all.push(...taken.map((one) => one.row));
  return all;
}

test('what is wanted comes in its order wherever it begins, and no more is held than may be', async () => {
  const size = fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 9_000 }));
  const asked = fc.record({
    sizes: fc.array(size, { minLength: 1, maxLength: 12 }),
    spread: fc.constantFrom<Spread>('apart', 'mixed', 'equal'),
    descending: fc.boolean(),
    from: fc.double({ min: 0, max: 0.999_9, noNaN: true }),
    limit: fc.integer({ min: 1, max: 12_000 }),
  });
  await fc.assert(
    fc.asyncProperty(asked, async ({ sizes, spread, descending, from, limit }) => {
      const ofEach = inOrder(sizes, spread, descending);
      const expected = putTogether(ofEach, descending);
      const skip = Math.floor(from * expected.length);
      const { schools, watched } = makeUp(ofEach);
      assert.deepEqual(await readAll(schools, { skip, limit, descending }), expected.slice(skip, skip + limit));
      assert.ok(watched.heldAtMost <= mostHeld(schools.length), `${watched.heldAtMost} held`);
    }),
    { numRuns: 40 },
  );
});

for (const spread of ['apart', 'mixed', 'equal'] as const) {
  test(`a page behind most records of many schools (${spread}) reads a fraction of what it skips; a whole list asks each school a few times`, async () => {
    const sizes = Array.from({ length: 300 }, () => 400);
    const ofEach = inOrder(sizes, spread, false);
    const expected = putTogether(ofEach, false);
    const deep = makeUp(ofEach);
    assert.deepEqual(await readAll(deep.schools, { skip: 110_000, limit: 100, descending: false }), expected.slice(110_000, 110_100));
    assert.ok(deep.watched.read < 25_000 && deep.watched.reads < 5 * sizes.length, JSON.stringify(deep.watched));
    const whole = makeUp(ofEach);
    assert.deepEqual(await readAll(whole.schools, { skip: 0, limit: Infinity, descending: false }), expected);
    assert.ok(whole.watched.reads < 30 * sizes.length && whole.watched.heldAtMost <= 10_000, JSON.stringify(whole.watched));
  });
}

test('a thousand schools and more are asked for ten records at once', async () => {
  const { schools, watched } = makeUp(inOrder(Array.from({ length: 1_500 }, () => 20), 'mixed', true));
  assert.equal((await readAll(schools, { skip: 0, limit: Infinity, descending: true })).length, 30_000);
  assert.ok(watched.heldAtMost <= 15_000 && watched.reads < 1_500 * 5, JSON.stringify(watched));
});
