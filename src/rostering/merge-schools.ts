// In charge of putting several schools' records together in the order of a sort, while what is held of all of them is bounded, however many
// records they have.
import { atOnce } from '../at-once.ts';
import type { Row, SchoolInOrder } from './school-in-order.ts';
import { compareKeys } from './sort-key.ts';

/**
 * Rows that are held at most: so many for each school, or as if there were a thousand. With fewer, each school of many had to be asked anew
 * for every few of its records.
 */
export const mostHeld = (schools: number): number => 10 * Math.max(1_000, schools);

export type Merging = Readonly<{
  descending: boolean;
  withRecords: boolean;
  /** How many come before those that are wanted: fewer than there are. */
  skip: number;
  /** How many are wanted at most. */
  limit: number;
  /** Statements that run at the same time. */
  atOnce: number;
}>;

export type Taken = Readonly<{ school: SchoolInOrder; row: Row }>;
/** Gives the next, as many as there are. */
export type Merge = (count: number) => Promise<Taken[]>;

/**
 * Many are skipped in strides: of each school every so many-th is read, and those are merged as long as what may lie between them is skipped
 * for certain, too. What is left is a fraction, and is skipped in shorter strides, at last one by one.
 */
export async function openMerge(schools: readonly SchoolInOrder[], { descending, withRecords, skip, limit, atOnce: most }: Merging): Promise<Merge> {
  const room = mostHeld(schools.length);
  const compare = (a: SchoolInOrder, b: SchoolInOrder) => compareKeys(a.head.sortKey, b.head.sortKey, descending) || a.place - b.place;
  /** By the record that comes next. */
  let ahead: SchoolInOrder[] = [];
  let stride = 1;
  let left = skip + limit;

  /** Half of what may be held: where one school's records all come first, the other half is for it. */
  async function begin(next: number): Promise<void> {
    stride = next;
    for (const school of schools) school.drop();
    await readMore(schools, room / 2);
    ahead = schools.filter(({ held }) => held > 0).toSorted(compare);
  }

  /** One that has run out, and with it those that soon will. Each has given at least one since the last time, so that there is room for one of each. */
  async function refill(): Promise<void> {
    const held = schools.reduce((sum, school) => sum + school.held, 0);
    await readMore(schools.filter((school) => school.isLow && school.hasMore(stride)), room - held);
  }

  async function readMore(of: readonly SchoolInOrder[], free: number): Promise<void> {
    const ask = { count: Math.min(Math.floor(free / of.length), Math.ceil(left / stride)), stride, withRecords };
    await atOnce(most, of, (school) => school.readMore(ask));
  }

  async function walk(count: number, visit: (one: Taken) => unknown = () => {}): Promise<number> {
    let walked = 0;
    for (let school = ahead[0]; school && walked + stride <= count; school = ahead[0]) {
      ahead.shift();
      visit({ school, row: school.take(stride) });
      walked += stride;
      left -= stride;
      if (school.held === 0 && school.hasMore(stride) && left > 0) await refill();
      if (school.held > 0) ahead.splice(findPlace(ahead, school, compare), 0, school);
    }
    return walked;
  }

  const strideFor = (count: number) => Math.ceil(count / (room / 2));
  let before = skip;
  for (let next = strideFor(before); next > 1; next = strideFor(before)) {
    await begin(next);
    const between = schools.reduce((sum, { rest }) => sum + Math.min(next - 1, rest), 0);
    before -= await walk(before - between);
  }
  await begin(1);
  await walk(before);
  return async (count) => {
    const taken: Taken[] = [];
    await walk(Math.min(count, left), (one) => taken.push(one));
    return taken;
  };
}

function findPlace(ahead: readonly SchoolInOrder[], school: SchoolInOrder, compare: (a: SchoolInOrder, b: SchoolInOrder) => number): number {
  let [low, high] = [0, ahead.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(ahead[middle] as SchoolInOrder, school) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
