// In charge of authentication events: the form that tells an application that a school approved it, and again that the
// school's data is there. The school secret leaves in it; the stored copy is sealed.
import type { Seal } from '../access/seal.ts';
import type { Tx } from '../db/connect.ts';
import { callbackLane, hostOf } from '../notifications/move-callback.ts';
import { callKind, callsAtOnce } from '../notifications/webhooks.ts';
import { enqueue } from '../outbox/enqueue.ts';

export type Announced = { estab: string; rp: string; secretId: string; schoolSecret: string; installed: boolean };

type Facts = { schoolName: string; schoolEmail: string; connector: string | null; scopes: string[]; template: string[]; callbackUrl: string };

export async function announceApproval(tx: Tx, seal: Seal, { estab, rp, secretId, schoolSecret, installed }: Announced): Promise<void> {
  const [facts] = await tx<Facts[]>`
    select e.name as "schoolName", e.email as "schoolEmail", e.connector, a.scopes, p.required_scopes || p.optional_scopes as template,
      p.callback_url as "callbackUrl"
    from authorisation a join establishment e using (estab) join application p using (rp) where a.estab = ${estab} and a.rp = ${rp}`;
  if (!facts) throw new Error(`${estab} has not authorised ${rp}`);
  const form = new URLSearchParams({
    schoolSecret,
    schoolId: estab,
    schoolEmail: facts.schoolEmail,
    schoolName: facts.schoolName,
    templateScopes: facts.template.join(','),
    scopes: facts.scopes.join(','),
    thirdParty: facts.connector === null ? '' : 'Schoolbell',
    partnerId: rp,
    installcomplete: String(installed),
  });
  await enqueue(tx, {
    estab,
    rp,
    kind: callKind,
    lane: { key: callbackLane(rp), host: hostOf(facts.callbackUrl), width: callsAtOnce, lasting: true },
    payload: {
      event: 'authentication',
      method: 'POST',
      url: facts.callbackUrl,
      contentType: 'application/x-www-form-urlencoded',
      sealed: true,
      last: installed,
      secretId,
    },
    body: seal.seal(form.toString()),
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
