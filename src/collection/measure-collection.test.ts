// Covers what is counted of a collection out of its chunks: totals, those of several kinds, and how many precede each milestone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measure, type Chunk } from './measure-collection.ts';

const chunk = (at: number, first: string, kind: string, count: number, { kinds = null, status = 'active' }: Partial<Chunk> = {}): Chunk =>
  ({ chunk: at, first, kind, kinds, status, count });

test('nothing has neither totals nor milestones', () => {
  assert.deepEqual(measure([]), { totals: [], milestones: [] });
});

test('a milestone says of every group how many precede it, also of those that come later', () => {
  const { milestones } = measure([
    chunk(0, 'a', 'student', 998), chunk(0, 'a', 'teacher', 2), chunk(1, 'm', 'student', 999), chunk(1, 'm', 'student', 1, { status: 'tobedeleted' }),
    chunk(2, 'z', 'staff', 5),
  ]);
  assert.deepEqual(milestones, [
    { first: 'm', preceding: { 'student active': 998, 'teacher active': 2, 'student tobedeleted': 0, 'staff active': 0 } },
    { first: 'z', preceding: { 'student active': 1997, 'teacher active': 2, 'student tobedeleted': 1, 'staff active': 0 } },
  ]);
});

test('people with several kinds are a group of their own', () => {
  const kinds = ['teacher', 'contact'];
  const { totals, milestones } = measure([
    chunk(0, 'a', 'teacher', 990), chunk(0, 'a', 'teacher', 10, { kinds }), chunk(1, 'n', 'teacher', 3, { kinds }), chunk(1, 'n', 'student', 1),
  ]);
  assert.deepEqual(totals, [
    { kind: 'teacher', kinds: '', status: 'active', count: 990 },
    { kind: 'teacher', kinds: 'teacher,contact', status: 'active', count: 13 },
    { kind: 'student', kinds: '', status: 'active', count: 1 },
  ]);
  assert.deepEqual(milestones, [{ first: 'n', preceding: { 'teacher active': 990, 'teacher/teacher,contact active': 10, 'student active': 0 } }]);
});
