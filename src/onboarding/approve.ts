// In charge of what a school decides about an application: approve, approve again with other scopes, decline, pause,
// resume, revoke. Each is one transaction with its events, its receipt and its entry in the record.
import { authorise, changeState, type Authorised, type IssuedSecret } from '../access/authorisations.ts';
import type { Seal } from '../access/seal.ts';
import { sealedAs } from '../access/sealed-as.ts';
import { readMoment } from '../db/clock.ts';
import type { Db, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { enqueueMail } from '../mail/mail.ts';
import { announceMissing } from '../notifications/announce.ts';
import { callbackLane } from '../notifications/move-callback.ts';
import { announceApproval, announceState, forgetEarlier } from './authentication-event.ts';
import { isLive } from './live.ts';
import { renderReceipt } from './mails.ts';

export type Actor = 'school' | 'operator' | 'application' | 'service';
export type Pair = { estab: string; rp: string };
export type Deciding = { db: Db; seal: Seal; publicUrl: string };
type Change = 'pause' | 'resume' | 'revoke';

const changes = {
  pause: { from: ['Approved'], to: 'Paused' },
  resume: { from: ['Paused'], to: 'Approved' },
  revoke: { from: ['Approved', 'Paused'], to: 'Revoked' },
} as const;

/** `invitation`: the one that is being decided; somebody else may have decided it a moment ago. `replaces`: as `authorise` has it. */
export async function approve(
  { db, seal, publicUrl }: Deciding,
  given: Pair & { scopes?: string | undefined; actor: Actor; invitation?: string; replaces?: string | undefined },
): Promise<Authorised> {
  return authorise(db, given, async (tx, issued, scopes) => {
    await decideInvitation(tx, given, 'Approved');
    const installed = await isLive(tx, given.estab);
    await tx`update authorisation set installed_at = ${installed ? tx`now()` : null}, announced_secret = ${issued.id} where estab = ${given.estab}
      and rp = ${given.rp}`;
    await storeReadable(tx, seal, given, issued);
    await record(tx, given, installed ? 'Live' : 'Approved', scopes);
    await forgetEarlier(tx, { ...given, secretId: issued.id });
    await announceApproval(tx, seal, { ...given, secretId: issued.id, schoolSecret: issued.text, installed });
    await announceMissing(tx, given);
    await sendReceipt(tx, publicUrl, given, 'approved', scopes);
  });
}

/** As long as the application waits for the data, it is told the new secret: the form that comes then carries it. */
export async function announceRotation(tx: Tx, seal: Seal, pair: Pair, issued: IssuedSecret): Promise<void> {
  const waiting =
    await tx`update authorisation set announced_secret = ${issued.id} where estab = ${pair.estab} and rp = ${pair.rp} and installed_at is null returning rp`;
  if (waiting.length === 0) return;
  await forgetEarlier(tx, { ...pair, secretId: issued.id });
  await storeReadable(tx, seal, pair, issued);
  await announceApproval(tx, seal, { ...pair, secretId: issued.id, schoolSecret: issued.text, installed: false });
}

/** Only an invitation can be declined. */
export async function decline({ db, publicUrl }: Deciding, given: Pair & { actor: Actor; invitation: string }): Promise<void> {
  await db.begin(async (tx) => {
    await decideInvitation(tx, given, 'Declined');
    await record(tx, given, 'Declined', []);
    await announceState(tx, given, { invitation: given.invitation });
    await sendReceipt(tx, publicUrl, given, 'declined', []);
  });
}

/** Gives how many calls that were waiting were stopped. */
export async function change({ db, seal, publicUrl }: Deciding, what: Change, given: Pair & { actor: Actor }): Promise<{ state: string; stopped: number }> {
  const { from, to } = changes[what];
  let stopped = 0;
  const { state } = await changeState(db, { ...given, from, to }, async (tx) => {
    if (what === 'resume') await repeatApproval(tx, seal, given);
    else stopped = await stopCalls(tx, given);
    if (what === 'revoke') await tx`update school_secret set sealed = null where estab = ${given.estab} and rp = ${given.rp}`;
    await announceState(tx, given);
    await record(tx, given, what === 'resume' ? 'Resumed' : to, null);
    await announceMissing(tx, given);
    await sendReceipt(tx, publicUrl, given, what === 'pause' ? 'paused' : what === 'resume' ? 'resumed' : 'revoked', []);
  });
  return { state, stopped };
}

/**
 * Takes optional scopes away or gives them back, without a new secret: the application goes on with the one it has. Returns the granted scopes.
 * A choice that changes nothing leaves no entry and sends no receipt.
 */
export async function changeScopes({ db, publicUrl }: Deciding, given: Pair & { scopes: readonly string[]; actor: Actor }): Promise<string[]> {
  return db.begin(async (tx) => {
    const [row] = await tx<{ scopes: string[]; required: string[]; optional: string[] }[]>`
      select a.scopes, p.required_scopes as required, p.optional_scopes as optional from authorisation a join application p using (rp)
        where a.estab = ${given.estab} and a.rp = ${given.rp} and a.state in ('Approved', 'Paused') for update of a`;
    if (!row) throw new SchoolbellError('conflict', 'The application is not authorised any more.');
    // What is required is not a matter of choice here; what is asked for no more is not granted any more.
    const open = [...row.required, ...row.optional];
    const scopes = open.filter((scope) => given.scopes.includes(scope) || (row.required.includes(scope) && row.scopes.includes(scope)));
    const changed = { added: scopes.filter((one) => !row.scopes.includes(one)), removed: row.scopes.filter((one) => !scopes.includes(one)) };
    if (changed.added.length === 0 && changed.removed.length === 0) return scopes;
    await tx`update authorisation set scopes = ${scopes}, changed_at = now() where estab = ${given.estab} and rp = ${given.rp}`;
    await record(tx, given, 'Scopes changed', scopes);
    await announceState(tx, given);
    await announceMissing(tx, given);
    await sendReceipt(tx, publicUrl, given, changed, scopes);
    return scopes;
  });
}

async function decideInvitation(
  tx: Tx,
  { estab, rp, actor, invitation }: Pair & { actor: Actor; invitation?: string },
  state: 'Approved' | 'Declined',
): Promise<void> {
  const decided = await tx<{ id: string }[]>`
    update invitation set state = ${state}, decided_at = now(), decided_by = ${actor}
    where estab = ${estab} and rp = ${rp} and state in ('Proposed', 'Invited') and (state = 'Invited' and expires_at > now() or ${actor === 'operator'})
      returning id`;
  if (invitation !== undefined && !decided.some(({ id }) => id === invitation))
    throw new SchoolbellError('conflict', 'This request has been decided already, or has expired.');
}

/** Calls that wait are for nobody now, but those that say how it stands. Their lane is locked with the others, since one more may follow. */
async function stopCalls(tx: Tx, { estab, rp }: Pair): Promise<number> {
  await tx`select from lane where key = ${callbackLane(rp)} or key in (select lane from outbox where estab = ${estab} and rp = ${rp} and kind = 'call'
    and state = 'waiting') order by key for update`;
  const { count } = await tx`update outbox set state = 'cancelled', settled_at = now()
    where estab = ${estab} and rp = ${rp} and kind = 'call' and state = 'waiting' and not payload ? 'tellsState'`;
  await tx`update webhook w set missed_at = ${await readMoment(tx)} where w.estab = ${estab} and w.rp = ${rp}
    and exists (select from outbox o where o.estab = w.estab and o.topic = w.id::text and o.state = 'cancelled' and o.settled_at = now())`;
  return count;
}

/** A pause may have come before the secret arrived. */
async function repeatApproval(tx: Tx, seal: Seal, { estab, rp }: Pair): Promise<void> {
  const [kept] = await tx<{ id: string; sealed: Uint8Array; installed: boolean }[]>`
    select s.id, s.sealed, a.installed_at is not null as installed from authorisation a join school_secret s on s.estab = a.estab and s.rp = a.rp
      and s.id = a.announced_secret
    where a.estab = ${estab} and a.rp = ${rp} and s.sealed is not null
      and not exists (select from outbox o where o.estab = a.estab and o.rp = a.rp and o.payload ->> 'secretId' = s.id::text
        and (o.payload ->> 'last')::boolean = (a.installed_at is not null) and (o.state in ('waiting', 'running', 'done') or o.body is null))`;
  if (!kept) return;
  const schoolSecret = seal.open(kept.sealed, sealedAs.schoolSecret(estab, rp, kept.id));
  await announceApproval(tx, seal, { estab, rp, secretId: kept.id, schoolSecret, installed: kept.installed });
}

/** Stores the encrypted copy of a school secret, which the authentication event carries. */
async function storeReadable(tx: Tx, seal: Seal, { estab, rp }: Pair, { id, text }: IssuedSecret): Promise<void> {
  await tx`update school_secret set sealed = ${seal.seal(text, sealedAs.schoolSecret(estab, rp, id))} where estab = ${estab} and id = ${id}`;
}

async function record(tx: Tx, { estab, rp, actor }: Pair & { actor: Actor }, state: string, scopes: readonly string[] | null): Promise<void> {
  await tx`insert into authorisation_event (estab, rp, state, actor, scopes)
    values (${estab}, ${rp}, ${state}, ${actor}, ${scopes === null ? null : [...scopes]})`;
}

async function sendReceipt(
  tx: Tx,
  publicUrl: string,
  { estab, rp, actor }: Pair & { actor: Actor },
  what: Parameters<typeof renderReceipt>[0]['what'],
  scopes: readonly string[],
): Promise<void> {
  const [facts] = await tx<{ school: string; email: string; application: string; at: Date; timeZone: string; confirmed: boolean }[]>`
    select e.name as school, e.email, p.name as application, now() as at, e.time_zone as "timeZone", e.confirmed_at is not null as confirmed
      from establishment e, application p where e.estab = ${estab} and p.rp = ${rp}`;
  if (!facts?.confirmed) return;
  await enqueueMail(tx, {
    estab,
    rp,
    to: facts.email,
    ...renderReceipt({ what, actor, school: facts.school, application: facts.application, scopes, at: facts.at, timeZone: facts.timeZone, publicUrl }),
  });
}
