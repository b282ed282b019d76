// Tells the people of an application by mail that its callback URL was changed, so that a change by somebody else is noticed.
import type { Tx } from '../db/connect.ts';
import { writeLetter, type Letter } from './letter.ts';
import { enqueueMail, noSchool } from './mail.ts';

/** `waits`: the host is another one, and events with secrets wait for the operator. `by`: the sign-in name of a developer, or the operator. */
export type CallbackChange = {
  application: { rp: string; name: string };
  /** The application's contacts before and after the change, because one form changes both. */
  contacts: readonly (string | null)[];
  from: string;
  to: string;
  waits: boolean;
  by: { name: string; isDeveloper: boolean };
};

/** Writes to the application's contacts and to its developers, but not to the person who made the change. */
export async function notifyCallbackChange(tx: Tx, publicUrl: string, change: CallbackChange): Promise<void> {
  const { by, contacts, application: { rp } } = change;
  const developers = await tx<{ email: string }[]>`
    select a.email from console_developer d join console_account a on a.id = d.account
    where d.rp = ${rp} and a.email is not null and a.sign_in_name <> ${by.name} order by a.email`;
  const addresses = [...contacts.flatMap((contact) => contact || []), ...developers.map(({ email }) => email)];
  const recipients = new Map(addresses.map((address) => [address.toLowerCase(), address]));
  for (const to of recipients.values()) await enqueueMail(tx, { estab: noSchool, rp, to, ...renderChange(publicUrl, change) });
}

function renderChange(publicUrl: string, { application: { rp, name }, from, to, waits, by }: CallbackChange): Letter {
  const person = by.isDeveloper ? `the developer ${by.name}` : 'the operator of the service';
  return writeLetter(`The callback URL of ${name} was changed`, [
    `The callback URL of the application “${name}” (${rp}) was changed by ${person}. Schoolbell sends authentication events to it, with school secrets.`,
    `Before: ${from}`,
    `Now: ${to}`,
    ...(waits ? ['The host is another one. Events that carry a school secret wait until the operator of the service confirms it.'] : []),
    { link: `${publicUrl}/console/applications/${encodeURIComponent(rp)}`, label: 'See the application' },
    'If you do not know about this change, tell the operator of the service at once.',
  ]);
}
