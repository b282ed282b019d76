// In charge of what the mails to operators say.
import { writeLetter, type Letter } from '../mail/letter.ts';
import type { Role } from './sessions.ts';

export const invitationDays = 7;
export const forgottenHours = 1;

const may: Readonly<Record<Role, string>> = { admin: 'look at everything there and change it', viewer: 'look at everything there' };

export function renderInvitation({ name, by, role, link }: { name: string; by: string; role: Role; link: string }): Letter {
  return writeLetter('Your account for the console of Schoolbell', [
    `Dear ${name},`,
    `You are invited to the console of Schoolbell by ${by}, as ${role}: you may ${may[role]}. Choose a password to begin:`,
    { link, label: 'Choose a password' },
    `The link is for you alone: do not pass it on. It opens once, within ${invitationDays} days. If you did not expect this mail, nothing needs to be done.`,
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
