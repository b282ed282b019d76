// In charge of forgetting people who are purged, in the outbox: what was sent or is to be sent about them, and what was
// answered to it.
import { patternsOf, type ForgetPeople } from '../roster/leaver.ts';

/** What is no message and waits for its turn goes on; only what its attempts say of them goes. */
export const forgetDeliveriesOf: ForgetPeople = async (tx, estab, people) => {
  const { text, bytes } = patternsOf(people);
  const inAttempt = tx`(a.detail::text ~ ${text} or encode(a.response, 'escape') ~ ${bytes})`;
  const named = await tx<{ id: string; lane: string }[]>`
    select o.id, o.lane from outbox o where o.estab = ${estab} and (o.settled_at is not null or o.body is not null) and (
      o.payload::text ~ ${text} or encode(o.body, 'escape') ~ ${bytes}
      or exists (select from outbox_attempt a where a.estab = ${estab} and a.id = o.id and ${inAttempt}))`;
  const lanes = [...new Set(named.map(({ lane }) => lane))];
  // As whoever claims and settles does it: the lane first.
  await tx`select from lane where key = any(${lanes}) order by key for update`;
  await tx`delete from outbox where estab = ${estab} and id = any(${named.map(({ id }) => id)})`;
  // What stood in the way of others may just have gone.
  await tx`update lane set next_at = now() where key = any(${lanes}) and disabled_at is null`;
  await tx`update outbox_attempt a set detail = '{}', response = null where a.estab = ${estab} and ${inAttempt}`;
};
