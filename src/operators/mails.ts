// In charge of what the mails to operators and developers say.
import { writeLetter, type Letter } from '../mail/letter.ts';
import type { Role } from './sessions.ts';

export const invitationDays = 7;
export const forgottenHours = 1;

/** applications: of a developer, by name. */
type Invitation = { name: string; by: string; role: Role; applications: readonly string[]; link: string };

function describeRole({ role, applications }: Invitation): string {
  if (role === 'admin') return 'as admin: you may look at everything there and change it';
  if (role === 'viewer') return 'as viewer: you may look at everything there';
  if (applications.length === 0) return 'as a developer';
  const [has, it] = applications.length === 1 ? ['it has', 'it'] : ['they have', 'them'];
  return `as a developer of ${nameAll.format(applications)}: you see there what schools and deliveries ${has}, and look after ${it}`;
}

const nameAll = new Intl.ListFormat('en', { type: 'conjunction' });

export function renderInvitation(given: Invitation): Letter {
  const { name, by, link } = given;
  return writeLetter('Your account for the console of Schoolbell', [
    `Dear ${name},`,
    `You are invited to the console of Schoolbell by ${by}, ${describeRole(given)}. Choose a password to begin:`,
    { link, label: 'Choose a password' },
    `The link is for you alone: do not pass it on. It opens once, within ${invitationDays} days. If you did not expect this mail, nothing needs to be done.`,
  ]);
}

export function renderAdded({ name, by, application, link }: { name: string; by: string; application: string; link: string }): Letter {
  return writeLetter(`You are a developer of ${application}`, [
    `Dear ${name},`,
    `You are now a developer of ${application} at Schoolbell: ${by} has added you.`,
    'It stands in the console beside what you have there; your password is the same.',
    { link, label: 'To the application' },
    'If you did not expect this mail, tell whoever runs this service.',
  ]);
}

export function renderForgotten({ name, link }: { name: string; link: string }): Letter {
  return writeLetter('A new password for the console of Schoolbell', [
    `Dear ${name},`,
    'Somebody, we hope you, has forgotten the password of your account for the console of Schoolbell. Choose a new one:',
    { link, label: 'Choose a new password' },
    'The link opens once, within one hour. If it was not you who asked, nothing needs to be done: the password stays as it is.',
  ]);
}
