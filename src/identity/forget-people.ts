// In charge of forgetting people who are purged: their logins with everything that opens them. The record of what was
// done stays, about a trace instead of a person.
import type { Pseudonym } from '../access/pseudonym.ts';
import { sourcedIdsOf, type Forget } from '../roster/leaver.ts';

/** Sessions and registration links go with the login. */
export const forgetLoginsOf: Forget = async (tx, estab, people) => {
  const ids = people.map(({ presenceId }) => presenceId);
  await tx`delete from login where estab = ${estab} and presence_id = any(${ids})`;
  await tx`delete from oidc_record where payload ->> 'accountId' = any(${ids.map((id) => `${estab}|${id}`)})`;
};

/** The same trace as their marks have. */
export function forgetAuditedOf(pseudonym: Pseudonym): Forget {
  return async (tx, estab, people) => {
    await tx`
      update identity_audit a set presence_id = gone.trace
      from unnest(${people.map(({ presenceId }) => presenceId)}::text[], ${sourcedIdsOf(people).map((id) => pseudonym(estab, id))}::text[]) as gone (id, trace)
      where a.estab = ${estab} and a.presence_id = gone.id`;
  };
}
