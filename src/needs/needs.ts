// In charge of what needs a person now, over the whole service: asked once, for the first page of the console and for the
// command that says how things stand, so that both say the same. Of each kind so many are told, and whether there are more.
import { renderConfirmCommand } from '../access/applications.ts';
import { listTroubledSchools, type SchoolTrouble, type TroubledSchool } from '../collection/troubled-schools.ts';
import { listFailingMails, type FailingMail } from '../mail/failing-mails.ts';
import { parseAllowList } from '../http/address-guard.ts';
import { listCallbackTasks, type CallbackTask } from '../notifications/callback-tasks.ts';
import { listTroubledTargets, type TroubledTarget } from '../notifications/troubled-targets.ts';
import {
  listProposedSchools, listUnanswered, listUnsent, type ProposedSchool, type UnansweredInvitation, type UnsentInvitation,
} from '../onboarding/open-questions.ts';
import { checkRunning, type Checked } from './check-live.ts';
import type { Finding } from './finding.ts';

export const needKinds = ['service', 'held', 'failing', 'stale', 'target', 'callback', 'proposal', 'unsent', 'invitation', 'mail'] as const;
export type NeedKind = (typeof needKinds)[number];

/**
 * what: a sentence without its full stop. why: in the words of whoever failed, which may be anybody's. todo: for the command line, each
 * command between commas, as it can be typed.
 */
export type Need = Readonly<{
  kind: NeedKind;
  what: string;
  why: string | null;
  todo: string;
  since: Date | null;
  urgent: boolean;
  estab: string | null;
  rp: string | null;
  id: string | null;
}>;
export type NeedsOfKind = Readonly<{ kind: NeedKind; needs: readonly Need[]; more: boolean }>;

const toldOfEach = 5;

/** Only kinds of which there is something, in their order. */
export async function findNeeds(checked: Checked, most = toldOfEach): Promise<NeedsOfKind[]> {
  const { db, config } = checked;
  const { publicUrl, outboundAllow } = config;
  const [running, schools, targets, callbacks, proposals, unsent, unanswered, mails] = await Promise.all([
    checkRunning(checked),
    listTroubledSchools(db, most + 1),
    listTroubledTargets(db, most + 1),
    listCallbackTasks(db, { publicUrl, allowed: parseAllowList(outboundAllow) }, most + 1),
    listProposedSchools(db, most + 1),
    listUnsent(db, most + 1),
    listUnanswered(db, most + 1),
    listFailingMails(db, most + 1),
  ]);
  const all: readonly Need[] = [
    ...running.filter(({ verdict }) => verdict !== 'ok').map(describeFinding),
    ...schools.map(describeSchool),
    ...targets.map(describeTarget),
    ...callbacks.map(describeCallback),
    ...proposals.map(describeProposal),
    ...unsent.map(describeUnsent),
    ...unanswered.map(describeInvitation),
    ...mails.map(describeMail),
  ];
  return needKinds
    .map((kind) => ({ kind, of: all.filter((need) => need.kind === kind) }))
    .filter(({ of }) => of.length > 0)
    .map(({ kind, of }) => ({ kind, needs: of.slice(0, most), more: of.length > most }));
}

const nobody = { estab: null, rp: null, id: null } as const;

function describeFinding({ check, verdict, found, todo }: Finding): Need {
  return { ...nobody, kind: 'service', what: `${check[0]?.toUpperCase() ?? ''}${check.slice(1)}: ${found}`, why: null, todo: todo ?? '', since: null,
    urgent: verdict === 'fail', id: check };
}

const schoolWords: Readonly<Record<SchoolTrouble, (school: TroubledSchool) => Pick<Need, 'what' | 'todo' | 'urgent'>>> = {
  held: ({ name, estab }) => ({
    what: `${name}: an import would delete so much that it waits for approval`,
    todo: `import held --estab ${estab}, which names the import, then import approve --estab ${estab} --import <id>, or import discard --estab ${estab}`,
    urgent: true,
  }),
  failing: ({ name, estab, database, uploads }) => ({
    what: `${name}: ${uploads ? 'the package that came last could not be taken over' : `${nameDatabase(database)} cannot be collected`}`,
    todo: uploads
      ? `import list --estab ${estab}, which leads to the report, then import --estab ${estab} <zip>`
      : `collect --estab ${estab}, and mend its source if that fails`,
    urgent: true,
  }),
  stale: ({ name, estab, database }) => ({
    what: `${name}: ${nameDatabase(database)} should have been collected again long ago`,
    todo: `collect --estab ${estab}, and look whether a worker runs`,
    urgent: false,
  }),
};

const nameDatabase = (name: string) => (name === 'Attendance' ? 'attendance' : 'the roster');

function describeSchool(school: TroubledSchool): Need {
  const { trouble, estab, since, message } = school;
  return { ...nobody, kind: trouble, why: message, since, estab, ...schoolWords[trouble](school) };
}

function describeTarget({ id, rp, application, school, host, disabled, since, why, estab }: TroubledTarget): Need {
  const where = `${host ?? 'an address'}${school === null ? '' : `, for ${school},`}`;
  return {
    kind: 'target',
    what: disabled ? `${application}: nothing more is sent to ${where} because it was disabled` : `${application}: calls to ${where} fail again and again`,
    why,
    todo: disabled ? `target enable ${id}, when the receiver is well again` : `deliveries --rp ${rp}, which shows what it answers`,
    since,
    urgent: disabled,
    estab,
    rp,
    id,
  };
}

function describeCallback({ rp, application, callbackUrl, confirmedHost, changedBy, since }: CallbackTask): Need {
  const { host } = new URL(callbackUrl);
  const what = confirmedHost === null
    ? `${application}: its callback URL uses plain http (${host}), so that events with secrets wait`
    : `${application}: ${changedBy} moved the callback URL from ${confirmedHost} to ${host}, and events with secrets wait until you confirm it`;
  const todo = confirmedHost === null ? `application edit --rp ${rp} --callback-url <https URL>` : renderConfirmCommand({ rp, callbackUrl });
  return { ...nobody, kind: 'callback', what, why: null, todo, since, urgent: true, rp };
}

function describeProposal({ estab, name, email, since, applications }: ProposedSchool): Need {
  const by = applications.length === 0 ? 'an application that asks no more' : applications.join(', ');
  const what = `${name} (${estab}) was named by ${by} with the address ${email}: confirm school and address, or refuse it`;
  const todo = `school confirm --estab ${estab} --email <address>, or school refuse --estab ${estab}`;
  return { ...nobody, kind: 'proposal', what, why: null, todo, since, urgent: true, estab };
}

function describeUnsent({ estab, school, rp, application, since }: UnsentInvitation): Need {
  const what = `${application} had proposed ${school}, which was added since: its invitation has not been sent`;
  const todo = `invite --rp ${rp} --estab ${estab}, or invite --rp ${rp} --estab ${estab} --withdraw`;
  return { ...nobody, kind: 'unsent', what, why: null, todo, since, urgent: false, estab, rp };
}

function describeInvitation({ estab, school, rp, application, expired, at }: UnansweredInvitation): Need {
  return {
    kind: 'invitation',
    what: `${school} has not answered the invitation of ${application}, which ${expired ? 'has ended' : 'ends soon'}`,
    why: null,
    todo: `invite --rp ${rp} --estab ${estab}, which asks again`,
    since: at,
    urgent: false,
    estab,
    rp,
    id: null,
  };
}

function describeMail({ estab, id, to, subject, givenUp, at, why }: FailingMail): Need {
  return {
    ...nobody,
    kind: 'mail',
    what: givenUp ? `The mail “${subject}” to ${to} could not be sent` : `The mail “${subject}” to ${to} fails and is tried again`,
    why,
    todo: givenUp ? `work retry ${id}, when the address or the mail server is mended` : 'status --check, which looks at the mail server',
    since: at,
    urgent: givenUp,
    estab,
    id,
  };
}
