// In charge of invitations: an application or the operator asks a school to decide. The link goes to the school's
// address of record alone; a school that only an application has named waits until the operator has confirmed it.
import { changeEstablishment, insertEstablishment, type EstablishmentChange } from '../access/establishments.ts';
import { parseScopes, type ScopeRequest } from '../access/scopes.ts';
import { isRecent } from '../db/clock.ts';
import type { Db, Sql, Tx } from '../db/connect.ts';
import { deleteInBatches } from '../db/delete-in-batches.ts';
import { SchoolbellError } from '../errors.ts';
import { enqueueMail } from '../mail/mail.ts';
import { endLinks, linkDays, linkPath, makeInvitationLink } from './links.ts';
import { renderInvitation } from './mails.ts';
import { deleteUnwanted, lockUnconfirmed } from './refuse-school.ts';

export type Invite = {
  estab: string;
  rp: string;
  schoolName: string;
  contactEmail: string;
  reason: string | null;
  scopes: string | undefined;
  by: 'application' | 'operator';
};
export type Invited = { invitation: string | null; state: 'Invited' | 'Proposed' | 'AlreadyInvited' | 'AlreadyAuthorised'; link: string | null };

/** An application that asks again within the hour makes no second mail. */
const repeatMinutes = 60;
/** Proposals of one application that may wait for the operator at a time. */
const mostProposals = 50;
/** Of a reason, in characters, whoever asks; an application may say less. */
const longestReason = 1_000;

export async function invite(db: Db, publicUrl: string, given: Invite): Promise<Invited> {
  if ((given.reason?.length ?? 0) > longestReason) throw new SchoolbellError('invalid_request', `--reason: ${longestReason} characters are the most`);
  return db.begin(async (tx) => {
    const asked = await requireScopes(tx, given);
    const { confirmed } = await requireSchool(tx, given);
    const [authorised] = await tx<
      { scopes: string[] }[]
    >`select scopes from authorisation where estab = ${given.estab} and rp = ${given.rp} and state in ('Approved', 'Paused')`;
    if (authorised && given.by === 'application' && [...asked.required, ...asked.optional].every((scope) => authorised.scopes.includes(scope)))
      return { invitation: null, state: 'AlreadyAuthorised', link: null };
    const [open] = await tx<{ id: string; state: 'Proposed' | 'Invited'; recent: boolean }[]>`
      select id, state, ${isRecent(tx, tx`coalesce(invited_at, created_at)`, repeatMinutes * 60)} as recent from invitation
        where estab = ${given.estab} and rp = ${given.rp} and state in ('Proposed', 'Invited') for update`;
    if (open?.recent && given.by === 'application') return { invitation: open.id, state: 'AlreadyInvited', link: null };
    if (!open && given.by === 'application') await requireRest(tx, given);
    const waits = !confirmed || (given.by === 'application' && (await isUnsent(tx, given)));
    if (!open && waits) await requireRoomForProposal(tx, given.rp);
    const id = open?.id ?? (await addInvitation(tx, given));
    await tx`update invitation set required_scopes = ${asked.required}, optional_scopes = ${asked.optional}, reason = ${given.reason}
      where estab = ${given.estab} and id = ${id}`;
    if (waits) return { invitation: id, state: 'Proposed', link: null };
    return { invitation: id, state: 'Invited', link: await send(tx, publicUrl, given.estab, id, given.by) };
  });
}

/** Locks the school, and adds it if it is unknown: confirmed if the operator names it, as a proposal if an application does. */
async function requireSchool(tx: Tx, { estab, schoolName, contactEmail, by }: Invite): Promise<{ confirmed: boolean }> {
  const find = () => tx<{ confirmed: boolean }[]>`
    select confirmed_at is not null as confirmed from establishment where estab = ${estab} for no key update`;
  const [known] = await find();
  if (known) return known;
  try {
    return await insertEstablishment(tx, { estab, name: schoolName, email: contactEmail, confirmed: by === 'operator' });
  } catch (error) {
    // Another request may have added it a moment ago.
    const [added] = error instanceof SchoolbellError ? await find() : [];
    if (!added) throw error;
    return added;
  }
}

/** Locks the application, so that two requests at once do not exceed the limit together. */
async function requireRoomForProposal(tx: Tx, rp: string): Promise<void> {
  await tx`select from application where rp = ${rp} for no key update`;
  const [counted] = await tx<{ open: number }[]>`select count(*)::int as open from invitation where rp = ${rp} and state = 'Proposed'`;
  if ((counted?.open ?? 0) >= mostProposals)
    throw new SchoolbellError(
      'conflict',
      `The application has ${mostProposals} open proposals. Wait until the operator has decided, or withdraw some of them.`,
    );
}

async function requireScopes(tx: Sql, { rp, scopes }: Invite): Promise<ScopeRequest> {
  const [application] = await tx<
    { required: string[]; optional: string[] }[]
  >`select required_scopes as required, optional_scopes as optional from application where rp = ${rp}`;
  if (!application) throw new SchoolbellError('not_found', `there is no application ${rp}`);
  if (scopes === undefined) return application as ScopeRequest;
  const asked = parseScopes(scopes);
  const stranger = [...asked.required, ...asked.optional].find((scope) => ![...application.required, ...application.optional].includes(scope));
  if (stranger)
    throw new SchoolbellError(
      'invalid_request',
      `${stranger} is not among the scopes of the application: ${[...application.required, ...application.optional].join(', ')}`,
    );
  return {
    required: asked.required.filter((scope) => application.required.includes(scope)),
    optional: [...asked.optional, ...asked.required.filter((scope) => application.optional.includes(scope))],
  };
}

/** To withdraw and ask again, or to ask again as soon as it was declined, would be a way to flood a school with mail. */
async function requireRest(tx: Tx, { estab, rp }: Invite): Promise<void> {
  const [ended] =
    await tx`select from invitation where estab = ${estab} and rp = ${rp} and state in ('Withdrawn', 'Declined')
      and ${isRecent(tx, tx`coalesce(invited_at, created_at)`, repeatMinutes * 60)} limit 1`;
  if (ended) throw new SchoolbellError('conflict', 'The application asked for this school within the last hour. Ask again later.');
}

/** Returns whether the last request of the application was a proposal that was never sent. Only the operator sends it, also after a withdrawal. */
async function isUnsent(tx: Tx, { estab, rp }: Invite): Promise<boolean> {
  const [last] = await tx<{ unsent: boolean }[]>`
    select state in ('Proposed', 'Withdrawn') and invited_at is null as unsent from invitation
      where estab = ${estab} and rp = ${rp} order by created_at desc, id limit 1`;
  return last?.unsent === true;
}

async function addInvitation(tx: Tx, { estab, rp, schoolName, contactEmail, by }: Invite): Promise<string> {
  const [row] = await tx<{ id: string }[]>`
    insert into invitation (estab, rp, state, required_scopes, optional_scopes, school_name, contact_email, invited_by)
      values (${estab}, ${rp}, 'Proposed', '{}', '{}', ${schoolName}, ${contactEmail}, ${by}) returning id`;
  return row?.id ?? '';
}

/** Makes it an invitation with a new link; links that were sent before open as well, until the school has decided. */
async function send(tx: Tx, publicUrl: string, estab: string, id: string, actor: string): Promise<string> {
  const [facts] = await tx<{ rp: string; application: string; reason: string | null; school: string; email: string }[]>`
    select i.rp, p.name as application, i.reason, e.name as school, e.email from invitation i join application p on p.rp = i.rp
      join establishment e on e.estab = i.estab where i.estab = ${estab} and i.id = ${id} for no key update of i`;
  if (!facts) throw new Error('the invitation is gone');
  await tx`update invitation set state = 'Invited', invited_at = now(), expires_at = now() + make_interval(days => ${linkDays})
    where estab = ${estab} and id = ${id}`;
  const link = `${publicUrl}${linkPath(await makeInvitationLink(tx, estab, id))}`;
  await tx`insert into authorisation_event (estab, rp, state, actor) values (${estab}, ${facts.rp}, 'Invited', ${actor})`;
  await enqueueMail(tx, {
    estab,
    rp: facts.rp,
    to: facts.email,
    ...renderInvitation({ school: facts.school, application: facts.application, reason: facts.reason, link }),
  });
  return link;
}

/** Confirms a school with the address that the operator typed, and sends the invitations that waited for that. */
export async function confirmSchool(
  db: Db,
  publicUrl: string,
  estab: string,
  email: string,
): Promise<{ estab: string; name: string; email: string; invited: number }> {
  if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw new SchoolbellError('invalid_request', `--email "${email}": not an e-mail address`);
  return db.begin(async (tx) => {
    const [before] = await tx<{ email: string }[]>`select email from establishment where estab = ${estab} for update`;
    await tx`update establishment set confirmed_at = now() where estab = ${estab} and confirmed_at is null`;
    const [school] = await tx<{ name: string; email: string }[]>`
      update establishment set email = ${email} where estab = ${estab} returning name, email`;
    if (!school) throw new SchoolbellError('not_found', `there is no establishment ${estab}`);
    const moved = before?.email !== school.email;
    if (moved) await endLinks(tx, estab);
    const waiting = await tx<
      { id: string; by: string }[]
    >`select id, invited_by as by from invitation
      where estab = ${estab} and (state = 'Proposed' or (state = 'Invited' and ${moved})) order by created_at for update`;
    // Who asked is who asked: the operator only lets it through.
    for (const { id, by } of waiting) await send(tx, publicUrl, estab, id, by);
    return { estab, ...school, invited: waiting.length };
  });
}

/** The address of record, or how the school is called or counts its days; whoever was asked is asked again where it moved to. */
export async function editSchool(tx: Tx, publicUrl: string, estab: string, change: EstablishmentChange): Promise<{ invited: number }> {
  const [before] = await tx<{ email: string }[]>`select email from establishment where estab = ${estab} for no key update`;
  await changeEstablishment(tx, estab, change);
  if (change.email === undefined || change.email === before?.email) return { invited: 0 };
  await endLinks(tx, estab);
  const open = await tx<{ id: string }[]>`select id from invitation where estab = ${estab} and state = 'Invited' order by created_at for update`;
  for (const { id } of open) await send(tx, publicUrl, estab, id, 'operator');
  return { invited: open.length };
}

/** Withdraws the open invitation. It also deletes an unconfirmed school that has nothing else left. Returns whether the school was deleted. */
export async function withdraw(
  db: Db,
  { estab, rp, by }: { estab: string; rp: string; by: 'application' | 'operator' },
): Promise<{ schoolRemoved: boolean }> {
  return db.begin(async (tx) => {
    // Before the invitation is locked, in the order of `invite`.
    const isUnconfirmed = await lockUnconfirmed(tx, estab);
    const gone =
      await tx`update invitation set state = 'Withdrawn', decided_at = now(), decided_by = ${by} where estab = ${estab} and rp = ${rp}
        and state in ('Proposed', 'Invited') returning id`;
    if (gone.length === 0) throw new SchoolbellError('not_found', `there is no open invitation of ${rp} to ${estab}`);
    await tx`insert into authorisation_event (estab, rp, state, actor) values (${estab}, ${rp}, 'Withdrawn', ${by})`;
    return { schoolRemoved: isUnconfirmed && (await deleteUnwanted(tx, estab)) };
  });
}

export async function expireInvitations(db: Db): Promise<void> {
  await db.begin(async (tx) => {
    const expired = await tx<{ estab: string; rp: string }[]>`
      update invitation set state = 'Expired', decided_at = now(), decided_by = 'service' where state = 'Invited' and expires_at <= now()
      returning estab, rp`;
    if (expired.length === 0) return;
    await tx`
      insert into authorisation_event (estab, rp, state, actor) select g.estab, g.rp, 'Expired', 'service'
      from unnest(${expired.map(({ estab }) => estab)}::text[], ${expired.map(({ rp }) => rp)}::text[]) as g (estab, rp)`;
  });
}

/** What was decided stands in the authorisation and its events. */
export async function forgetInvitations(db: Db, days: number): Promise<void> {
  await deleteInBatches(db, 'invitation', db`decided_at < now() - make_interval(days => ${days})`);
}
