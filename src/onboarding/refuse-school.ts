// In charge of refusing a school that only applications have named: their requests end, and it goes with them, so that nothing of it
// waits for anybody. What has more than such requests is removed instead, by whoever has seen what would go.
import { requireEstablishment } from '../access/establishments.ts';
import { removeRoster } from '../collection/remove.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';

/** In the words of `countSchool`: what comes of being named and asked alone. */
const ofRequests = ['invitations', 'decisions', 'requests of the last days', 'calls, mails and other work'];

/** applications: those that had asked and had no answer. */
export async function refuseSchool(db: Db, estab: string): Promise<{ estab: string; name: string; applications: string[] }> {
  const { name } = await requireEstablishment(db, estab);
  const applications: string[] = [];
  await removeRoster(db, estab, async (tx, counts) => {
    const [school] = await tx<{ confirmed: boolean; connected: boolean }[]>`
      select confirmed_at is not null as confirmed, connector is not null as connected from establishment where estab = ${estab} for update`;
    if (school?.confirmed !== false)
      throw new SchoolbellError('conflict', `Somebody has vouched for ${estab}: what an application asks of it can be withdrawn, or the school removed.`);
    const more = [...(school.connected ? ['a source'] : []), ...Object.keys(counts).filter((what) => !ofRequests.includes(what))];
    if (more.length > 0)
      throw new SchoolbellError('conflict', `${estab} has more than requests of applications: ${more.join(', ')}. Remove the school if all of that should go.`);
    const asked = await tx<{ rp: string }[]>`select rp from invitation where estab = ${estab} and state in ('Proposed', 'Invited') order by rp`;
    applications.push(...new Set(asked.map(({ rp }) => rp)));
  });
  return { estab, name, applications };
}
