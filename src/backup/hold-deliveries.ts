// In charge of calls and mails that had not gone out when a backup was taken, and may have since: held, they stand as failed with the
// reason, until somebody sends them (replay, work retry); sent, they go out as if nothing had been, under the same ids.
import type { Sql } from '../db/connect.ts';

export type Deliveries = 'hold' | 'send';

export const heldClass = 'held_by_restore';
const why = 'held by the restore of a backup: it may have gone out after the backup was taken';

/** Work whose process is not there any more is taken over at once. Gives how many are held, and since when. */
export async function settleDeliveries(tx: Sql, deliveries: Deliveries): Promise<{ held: number; at: Date }> {
  const [row] = await tx<{ at: Date }[]>`select now() as at`;
  const at = row?.at ?? new Date();
  await tx`update outbox set lease_until = now() where state = 'running'`;
  if (deliveries === 'send') return { held: 0, at };
  const { count } = await tx`
    with held as (
      update outbox set state = 'failed', claim = null, lease_until = null, settled_at = now(), attempts = attempts + 1, forgiven = forgiven + 1
      where kind in ('call', 'mail') and state in ('waiting', 'running') returning estab, id, attempts
    )
    insert into outbox_attempt (estab, id, number, success, error_class, detail)
    select estab, id, attempts, false, ${heldClass}, jsonb_build_object('message', ${why}::text) from held`;
  return { held: count, at };
}
