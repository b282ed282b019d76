// In charge of what is kept of people and shown to nobody: the ids that roles and profiles have in files, and whether the source said
// them at all. They are brought up to date without another version, so that a later row finds what it names.
import type { Tx } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import type { Changes } from './compare-stage.ts';
import { staged } from './stage.ts';

/** To be called when what is shown otherwise was merged. Gives of how many people. */
export async function mergeSilentColumns(tx: Tx, { reading, counts, empty }: Changes): Promise<number> {
  if (!counts.has(collections.users) || empty.has(collections.users)) return 0;
  const { count } = await tx`
    update roster_user t set roles = s.roles, primary_org_id = s.primary_org_id, user_profiles = s.user_profiles
    from ${staged(tx, collections.users, reading)} s
    where t.estab = ${reading.estab} and t.sourced_id = s.sourced_id and (s.roles is not null or t.roles is not null)
      and (t.roles is distinct from s.roles or t.primary_org_id is distinct from s.primary_org_id or t.user_profiles is distinct from s.user_profiles)`;
  return count;
}
