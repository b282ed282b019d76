// In charge of the end of writebacks, and of forgetting people who are purged in what was asked for about them.
import type { Pseudonym } from '../access/pseudonym.ts';
import type { Db, Sql } from '../db/connect.ts';
import { deleteOfSchool } from '../db/delete-in-batches.ts';
import { readInBatches } from '../db/read-in-batches.ts';
import { sourcedIdsOf } from '../roster/leaver.ts';
import { newSighting, seenAtAll, type NameFinder } from '../roster/name-finder.ts';
import { namingOneOf, searching, type Naming, type Search, type Written } from '../roster/search-names.ts';

type Found = Naming & { id: string };
type WritebackRow = { id: string; key: string | null; callbacks: { url: string }[]; faults: unknown };

const beforeAll = '00000000-0000-0000-0000-000000000000';

/** With their marks. Whom to call, the key by which a repeat is recognised and what it is told are of use for a day. */
export async function forgetWritebacks(db: Db, estab: string, days: number): Promise<void> {
  await deleteOfSchool(db, 'writeback', estab, db`completed_at < now() - make_interval(days => ${days})`);
  // Faults are kept only where somebody is called; by the index of those with a key or a callback.
  await db`
    update writeback set idempotency_key = null, callbacks = '[]', faults = null
    where estab = ${estab} and completed_at < now() - interval '1 day' and submitted_at < now() - interval '1 day'
      and (idempotency_key is not null or callbacks <> '[]')`;
}

/** The outcome stays, with its numbers; whose mark it was is a trace. One that was still to be written is not. */
export function forgetOutcomesOf(pseudonym: Pseudonym): Search {
  return searching<{ writebacks: Found[]; waits: Found[] }>({
    async find(sql, estab, names, written) {
      return { writebacks: await findWritebacks(sql, estab, names, written), waits: await findWaits(sql, estab, names, written) };
    },
    async forget(tx, estab, people, found) {
      const ids = sourcedIdsOf(people);
      const marked = await tx<{ id: string }[]>`
        update writeback_mark m set student_id = gone.trace, notes = null, message = null, result = coalesce(m.result, 'Failed'),
          code = case when m.result is null then 'UnknownStudent' else m.code end
        from unnest(${ids}::text[], ${ids.map((id) => pseudonym(estab, id))}::text[]) as gone (id, trace)
        where m.estab = ${estab} and m.student_id = gone.id returning m.tracking_id as id`;
      // Without the faults a repeat could not be told what the first was told; it is judged anew.
      await tx`
        update writeback set faults = null, idempotency_key = null
        where estab = ${estab} and faults is not null and tracking_id = any(${marked.map(({ id }) => id)}::uuid[])`;
      const named = namingOneOf(people, found.flatMap((one) => one.writebacks)).map(({ id }) => id);
      await tx`
        update writeback set idempotency_key = null, callbacks = '[]', faults = null
        where estab = ${estab} and status <> 'Pending' and tracking_id = any(${named}::uuid[])`;
      const waits = namingOneOf(people, found.flatMap((one) => one.waits)).map(({ id }) => id);
      await tx`delete from availability_wait where estab = ${estab} and done_at is not null and id = any(${waits}::uuid[])`;
    },
  });
}

async function findWritebacks(sql: Sql, estab: string, names: NameFinder, written: Written): Promise<Found[]> {
  const found: Found[] = [];
  const rows = readInBatches<WritebackRow>((after, limit) => sql<WritebackRow[]>`
    select w.tracking_id as id, w.idempotency_key as key, w.callbacks, w.faults from writeback w
    where w.estab = ${estab} and w.tracking_id > ${after?.id ?? beforeAll}::uuid and (w.idempotency_key is not null or w.callbacks <> '[]')
      and ${written('writeback', 'w')}
    order by w.tracking_id limit ${limit}`);
  for await (const { id, key, callbacks, faults } of rows) {
    const seen = newSighting();
    for (const { url } of callbacks) names.inUrl(url, seen);
    if (key !== null) names.inUrl(key, seen);
    names.inJson(faults, seen);
    found.push({ id, people: seenAtAll(seen) });
  }
  return found.filter(({ people }) => people.size > 0);
}

async function findWaits(sql: Sql, estab: string, names: NameFinder, written: Written): Promise<Found[]> {
  const found: Found[] = [];
  const rows = readInBatches<{ id: string; url: string }>((after, limit) => sql<{ id: string; url: string }[]>`
    select w.id, w.callback_url as url from availability_wait w
    where w.estab = ${estab} and w.id > ${after?.id ?? beforeAll}::uuid and ${written('availability_wait', 'w')} order by w.id limit ${limit}`);
  for await (const { id, url } of rows) {
    const seen = newSighting();
    names.inUrl(url, seen);
    found.push({ id, people: seenAtAll(seen) });
  }
  return found.filter(({ people }) => people.size > 0);
}
