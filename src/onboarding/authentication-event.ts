// In charge of authentication events: the form that tells an application that a school approved it, again that the school's
// data is there, and, where it wants to know, of every other decision. The school secret leaves in the first two; the
// stored copy is sealed.
import { shownState } from '../access/authorisations.ts';
import type { Seal } from '../access/seal.ts';
import { sealedAs } from '../access/sealed-as.ts';
import type { Tx } from '../db/connect.ts';
import { callbackLane, hostOf } from '../notifications/move-callback.ts';
import type { FormField } from '../notifications/test-callback.ts';
import { callKind, callsAtOnce } from '../notifications/webhooks.ts';
import { enqueue, makeWorkId, type Lane } from '../outbox/enqueue.ts';
import { whenLive } from './live.ts';

export type Announced = { estab: string; rp: string; secretId: string; schoolSecret: string; installed: boolean };

type Facts = { schoolName: string; schoolEmail: string; live: boolean; scopes: string[]; template: string[]; callbackUrl: string };

const laneOf = (rp: string, callbackUrl: string): Lane => ({
  key: callbackLane(rp),
  host: hostOf(callbackUrl),
  width: callsAtOnce,
  lasting: true,
});

function describeSchool({ estab, rp }: { estab: string; rp: string }, facts: Omit<Facts, 'callbackUrl'>): Record<FormField, string> {
  return {
    schoolId: estab,
    schoolEmail: facts.schoolEmail,
    schoolName: facts.schoolName,
    templateScopes: facts.template.join(','),
    scopes: facts.scopes.join(','),
    thirdParty: facts.live ? 'Schoolbell' : '',
    partnerId: rp,
  };
}

export async function announceApproval(tx: Tx, seal: Seal, { estab, rp, secretId, schoolSecret, installed }: Announced): Promise<void> {
  const [facts] = await tx<Facts[]>`
    select e.name as "schoolName", e.email as "schoolEmail", ${whenLive(tx, tx`${estab}`)} as live, a.scopes,
      p.required_scopes || p.optional_scopes as template, p.callback_url as "callbackUrl"
    from authorisation a join establishment e using (estab) join application p using (rp) where a.estab = ${estab} and a.rp = ${rp}`;
  if (!facts) throw new Error(`${estab} has not authorised ${rp}`);
  const form = new URLSearchParams({ schoolSecret, ...describeSchool({ estab, rp }, facts), installcomplete: String(installed) });
  const id = makeWorkId();
  const work = {
    estab,
    rp,
    kind: callKind,
    lane: laneOf(rp, facts.callbackUrl),
    payload: {
      event: 'authentication',
      method: 'POST',
      url: facts.callbackUrl,
      contentType: 'application/x-www-form-urlencoded',
      sealed: true,
      last: installed,
      secretId,
    },
    body: seal.seal(form.toString(), sealedAs.authenticationEvent(estab, rp, id)),
  };
  await enqueue(tx, work, id);
}

type StateFacts = Facts & { state: string; installed: boolean };

/**
 * Tells an application that wants to know how it stands now, without a secret. It goes out whatever the state is, since that
 * is what it says, but not late: whoever delivers looks whether a newer one was said.
 */
export async function announceState(tx: Tx, { estab, rp }: { estab: string; rp: string }, declined?: { invitation: string }): Promise<void> {
  // Of a school that never authorised it, an application is told what it has said itself.
  const [facts] = await tx<StateFacts[]>`
    select coalesce(case when a.estab is null then i.school_name end, e.name) as "schoolName",
      coalesce(case when a.estab is null then i.contact_email end, e.email) as "schoolEmail",
      a.estab is not null and ${whenLive(tx, tx`${estab}`)} as live,
      case when a.state in ('Approved', 'Paused') then a.scopes else '{}' end as scopes, p.required_scopes || p.optional_scopes as template,
      p.callback_url as "callbackUrl", ${shownState(tx)} as state, a.installed_at is not null as installed
    from application p join establishment e on e.estab = ${estab} left join authorisation a on a.estab = ${estab} and a.rp = p.rp
      left join invitation i on i.estab = ${estab} and i.id = ${declined?.invitation ?? null}
    where p.rp = ${rp} and p.state_events`;
  if (!facts) return;
  const status = declined ? 'Declined' : facts.state;
  const form = new URLSearchParams({ ...describeSchool({ estab, rp }, facts), installcomplete: String(facts.installed), status });
  await enqueue(tx, {
    estab,
    rp,
    kind: callKind,
    lane: laneOf(rp, facts.callbackUrl),
    payload: { event: 'authentication', method: 'POST', url: facts.callbackUrl, contentType: 'application/x-www-form-urlencoded', tellsState: status },
    body: Buffer.from(form.toString()),
  });
}

/** Forms with an earlier secret are for nobody now: one that arrived late would be taken for the newest. */
export async function forgetEarlier(tx: Tx, { estab, rp, secretId }: Omit<Announced, 'schoolSecret' | 'installed'>): Promise<void> {
  const earlier = tx`estab = ${estab} and rp = ${rp} and payload ->> 'event' = 'authentication' and payload ->> 'secretId' <> ${secretId}
    and state in ('waiting', 'running')`;
  await tx`select from lane where key in (select lane from outbox where ${earlier}) order by key for update`;
  // One that is under way right now is not tried again: without a body there is nothing to send.
  await tx`update outbox set body = null, state = case when state = 'waiting' then 'superseded' else state end, settled_at = case
    when state = 'waiting' then now() end where ${earlier}`;
  await tx`update school_secret set sealed = null where estab = ${estab} and rp = ${rp} and id <> ${secretId} and sealed is not null`;
}
