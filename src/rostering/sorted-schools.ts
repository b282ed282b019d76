// In charge of lists of several schools that are sorted by a field: each school gives its records in their order, and they are put together
// here. Of a page, what records are sorted by is put together first, and those on it are read by their ids; of a whole list they come with it.
import { atOnce } from '../at-once.ts';
import { tellBusy } from '../db/snapshot.ts';
import type { ListSource, OpenList } from '../roster/list-source.ts';
import type { Reading } from './by-school.ts';
import { openMerge, type Merge } from './merge-schools.ts';
import type { Part, Parts } from './parts.ts';
import type { Question } from './question.ts';
import { joinPage, toPieces, type Listed } from './render.ts';
import { SchoolInOrder } from './school-in-order.ts';
import { sortedRecords, type PoolOf, type SortedRecords } from './sorted-records.ts';
import { poolFor, recordsPerFetch } from './statements.ts';

/** So that one page does not take all connections of its pool, and one whole list few of those that others hold for minutes. */
const atOnceOf = { page: 4, list: 2 } as const;

export function sortedSchools(reading: Reading, question: Question, findParts: () => Promise<Parts>): ListSource {
  const descending = question.sort?.descending === true;

  return {
    total: async () => (await findParts()).total,
    async page({ limit, offset }, margins) {
      const parts = await findParts();
      const records = offset < parts.total ? await readPage(parts, offset, limit) : [];
      return { ...joinPage(records, margins), total: parts.total };
    },
    async open({ limit, offset }): Promise<OpenList> {
      const parts = await findParts();
      const wanted = Math.min(limit ?? Infinity, parts.total - offset);
      const batches = wanted > 0 ? await openBatches(parts, offset, wanted).catch(tellBusy) : none();
      return { total: parts.total, length: undefined, pieces: toPieces(batches), close: async () => {} };
    },
  };

  async function readPage(parts: Parts, skip: number, limit: number): Promise<Listed[]> {
    const { schools, recordsOf, estabOf } = inOrder(parts, (reader, target) => poolFor(reader, question, target));
    const merge = await openMerge(schools, { descending, withRecords: false, skip, limit, atOnce: atOnceOf.page });
    const taken = await merge(limit);
    const bySchool = [...Map.groupBy(taken, ({ school }) => school)];
    const found = new Map(
      await atOnce(atOnceOf.page, bySchool, async ([school, of]) => [school, await recordsOf(school).byIds(of.map(({ row }) => row.sourcedId))] as const),
    );
    return taken.map(({ school, row }) => ({ estab: estabOf(school), json: found.get(school)?.get(row.sourcedId) as string }));
  }

  /** What is skipped need not be shown. The first records are read at once: what is wrong can still be said. */
  async function openBatches(parts: Parts, skip: number, limit: number): Promise<AsyncGenerator<Listed[]>> {
    const { schools, estabOf } = inOrder(parts, (reader) => reader.lists);
    const how = { descending, atOnce: atOnceOf.list };
    if (skip > 0) await openMerge(schools, { ...how, withRecords: false, skip, limit: 0 });
    return readBatches(await openMerge(schools, { ...how, withRecords: true, skip: 0, limit }), estabOf);
  }

  /** Those that have any of the records. */
  function inOrder({ parts }: Parts, poolOf: PoolOf) {
    const all = parts.map(({ target }) => sortedRecords(reading, question, target, poolOf));
    return {
      schools: parts.flatMap(({ count }, place) => (count > 0 ? [new SchoolInOrder(place, count, (all[place] as SortedRecords).behind)] : [])),
      recordsOf: ({ place }: SchoolInOrder) => all[place] as SortedRecords,
      estabOf: ({ place }: SchoolInOrder) => (parts[place] as Part).target.estab,
    };
  }
}

async function* none(): AsyncGenerator<Listed[]> {}

async function* readBatches(merge: Merge, estabOf: (school: SchoolInOrder) => string): AsyncGenerator<Listed[]> {
  for (let taken = await merge(recordsPerFetch); taken.length > 0; taken = await merge(recordsPerFetch)) {
    yield taken.map(({ school, row }) => ({ estab: estabOf(school), json: row.json as string }));
  }
}
