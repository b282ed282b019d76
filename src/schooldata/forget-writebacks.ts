// In charge of the end of writebacks, and of forgetting people who are purged in what was asked for about them.
import type { Pseudonym } from '../access/pseudonym.ts';
import type { Db } from '../db/connect.ts';
import { deleteInBatches } from '../db/delete-in-batches.ts';
import { patternsOf, sourcedIdsOf, type ForgetPeople } from '../roster/leaver.ts';

/** With their marks. Whom to call, the key by which a repeat is recognised and what it is told are of use for a day. */
export async function forgetWritebacks(db: Db, days: number): Promise<void> {
  await deleteInBatches(db, 'writeback', db`completed_at < now() - make_interval(days => ${days})`);
  await db`
    update writeback set idempotency_key = null, callbacks = '[]', faults = null
    where completed_at < now() - interval '1 day' and submitted_at < now() - interval '1 day'
      and (idempotency_key is not null or callbacks <> '[]' or faults is not null)`;
}

/** The outcome stays, with its numbers; whose mark it was is a trace. One that was still to be written is not. */
export function forgetOutcomesOf(pseudonym: Pseudonym): ForgetPeople {
  return async (tx, estab, people) => {
    const ids = sourcedIdsOf(people);
    const { text } = patternsOf(people);
    await tx`
      update writeback w set faults = null where w.estab = ${estab} and w.faults is not null and (w.faults::text ~ ${text}
        or exists (select from writeback_mark m where m.estab = ${estab} and m.tracking_id = w.tracking_id and m.student_id = any(${ids})))`;
    await tx`
      update writeback_mark m set student_id = gone.trace, notes = null, message = null, result = coalesce(m.result, 'Failed'),
        code = case when m.result is null then 'UnknownStudent' else m.code end
      from unnest(${ids}::text[], ${ids.map((id) => pseudonym(estab, id))}::text[]) as gone (id, trace)
      where m.estab = ${estab} and m.student_id = gone.id`;
    await tx`
      update writeback set idempotency_key = null, callbacks = '[]'
      where estab = ${estab} and status <> 'Pending' and (idempotency_key ~ ${text} or callbacks::text ~ ${text})`;
    await tx`delete from availability_wait where estab = ${estab} and done_at is not null and callback_url ~ ${text}`;
  };
}
