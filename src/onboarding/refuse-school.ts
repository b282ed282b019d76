// Removes a school that only applications have proposed: when the operator refuses it, and when the last application withdraws its proposal.
// A school with more than such requests is removed with `school remove`, after the operator has seen what would go.
import type { Counts } from '../access/erasures.ts';
import { requireEstablishment } from '../access/establishments.ts';
import { countSchool } from '../collection/count-school.ts';
import { deleteSchool, removeRoster } from '../collection/remove.ts';
import type { Db, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';

/** In the words of `countSchool`: what comes of being named and asked alone. */
const ofRequests = ['invitations', 'decisions', 'requests of the last days', 'calls, mails and other work'];

/** applications: those that had asked and had no answer. */
export async function refuseSchool(db: Db, estab: string): Promise<{ estab: string; name: string; applications: string[] }> {
  const { name } = await requireEstablishment(db, estab);
  const applications: string[] = [];
  await removeRoster(db, estab, async (tx, counts) => {
    const { confirmed, connected } = await lockSchool(tx, estab);
    if (confirmed)
      throw new SchoolbellError('conflict', `Somebody has vouched for ${estab}: what an application asks of it can be withdrawn, or the school removed.`);
    const more = listMore(connected, counts);
    if (more.length > 0)
      throw new SchoolbellError('conflict', `${estab} has more than requests of applications: ${more.join(', ')}. Remove the school if all of that should go.`);
    const asked = await tx<{ rp: string }[]>`select rp from invitation where estab = ${estab} and state in ('Proposed', 'Invited') order by rp`;
    applications.push(...new Set(asked.map(({ rp }) => rp)));
  });
  return { estab, name, applications };
}

/** Locks a school for the withdrawal of an invitation if nobody has confirmed it. Returns whether that is so. */
export async function lockUnconfirmed(tx: Tx, estab: string): Promise<boolean> {
  const locked = await tx`select from roster where estab = ${estab}
    and exists (select from establishment e where e.estab = ${estab} and e.confirmed_at is null) for no key update`;
  if (locked.length === 0) return false;
  const { confirmed } = await lockSchool(tx, estab);
  return !confirmed;
}

/**
 * Deletes an unconfirmed school, locked by lockUnconfirmed, if it has no open invitation and nothing besides requests of applications.
 * Returns whether it was deleted. No erasure is recorded: those records are kept for good, and an application may repeat this without end.
 */
export async function deleteUnwanted(tx: Tx, estab: string): Promise<boolean> {
  const { connected } = await lockSchool(tx, estab);
  const open = await tx`select from invitation where estab = ${estab} and state in ('Proposed', 'Invited') limit 1`;
  if (open.length > 0 || listMore(connected, await countSchool(tx, estab)).length > 0) return false;
  await deleteSchool(tx, estab);
  return true;
}

type LockedSchool = { confirmed: boolean; connected: boolean };

async function lockSchool(tx: Tx, estab: string): Promise<LockedSchool> {
  const [school] = await tx<LockedSchool[]>`
    select confirmed_at is not null as confirmed, connector is not null as connected from establishment where estab = ${estab} for update`;
  return school ?? { confirmed: true, connected: false };
}

/** Lists in words what a school has besides requests of applications. */
function listMore(connected: boolean, counts: Counts): string[] {
  return [...(connected ? ['a source'] : []), ...Object.keys(counts).filter((words) => !ofRequests.includes(words))];
}
