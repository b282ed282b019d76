// Tells the people of an application by mail that its callback URL or its contact was changed, so that a change by somebody else is noticed.
import type { Tx } from '../db/connect.ts';
import { writeLetter, type Letter, type Paragraph } from './letter.ts';
import { enqueueMail, noSchool } from './mail.ts';

type NamedApplication = { rp: string; name: string };
/** The sign-in name of a developer, or the operator. */
type ChangeAuthor = { name: string; isDeveloper: boolean };

/** `waits`: the new URL is on another host, so events that contain secrets are not sent until the operator confirms the URL. */
export type CallbackChange = {
  application: NamedApplication;
  /** The application's contacts before and after the change, because one form changes both. */
  contacts: readonly (string | null)[];
  from: string;
  to: string;
  waits: boolean;
  by: ChangeAuthor;
};

/** Writes to the application's contacts and to its developers, but not to the person who made the change. */
export async function notifyCallbackChange(tx: Tx, publicUrl: string, change: CallbackChange): Promise<void> {
  await sendToPeople(tx, change.application.rp, change.contacts, change.by, renderCallbackChange(publicUrl, change));
}

/** `from` and `to`: addresses; null if there was or is none. */
export type ContactChange = { application: NamedApplication; from: string | null; to: string | null; by: ChangeAuthor };

/** Writes to the contact of before and to the other developers. Otherwise a later change of the callback URL would be mailed to the new contact only. */
export async function notifyContactChange(tx: Tx, publicUrl: string, change: ContactChange): Promise<void> {
  await sendToPeople(tx, change.application.rp, [change.from], change.by, renderContactChange(publicUrl, change));
}

async function sendToPeople(tx: Tx, rp: string, contacts: readonly (string | null)[], by: ChangeAuthor, letter: Letter): Promise<void> {
  const developers = await tx<{ email: string }[]>`
    select a.email from console_developer d join console_account a on a.id = d.account
    where d.rp = ${rp} and a.email is not null and a.sign_in_name <> ${by.name} order by a.email`;
  const addresses = [...contacts.flatMap((contact) => contact || []), ...developers.map(({ email }) => email)];
  const recipients = new Map(addresses.map((address) => [address.toLowerCase(), address]));
  for (const to of recipients.values()) await enqueueMail(tx, { estab: noSchool, rp, to, ...letter });
}

const describeAuthor = ({ name, isDeveloper }: ChangeAuthor) => (isDeveloper ? `the developer ${name}` : 'the operator of the service');

function renderCallbackChange(publicUrl: string, { application, from, to, waits, by }: CallbackChange): Letter {
  return writeLetter(`The callback URL of ${application.name} was changed`, [
    `The callback URL of the application “${application.name}” (${application.rp}) was changed by ${describeAuthor(by)}. Schoolbell sends authentication ` +
      'events to it, with school secrets.',
    `Before: ${from}`,
    `Now: ${to}`,
    ...(waits ? ['The host is another one. Events that carry a school secret wait until the operator of the service confirms it.'] : []),
    ...renderAdvice(publicUrl, application),
  ]);
}

function renderContactChange(publicUrl: string, { application, from, to, by }: ContactChange): Letter {
  return writeLetter(`The contact of ${application.name} was changed`, [
    `The contact address of the application “${application.name}” (${application.rp}) was changed by ${describeAuthor(by)}. Schoolbell mails security ` +
      'notices, such as a change of the callback URL, to the contact.',
    `Before: ${from ?? 'no address'}`,
    `Now: ${to ?? 'no address'}`,
    ...renderAdvice(publicUrl, application),
  ]);
}

function renderAdvice(publicUrl: string, { rp }: NamedApplication): Paragraph[] {
  return [
    { link: `${publicUrl}/console/applications/${encodeURIComponent(rp)}`, label: 'See the application' },
    'If you do not know about this change, tell the operator of the service at once.',
  ];
}
