// In charge of what the mails to people with a login say.
import { writeLetter, type Letter } from '../mail/letter.ts';

export const linkDays = 3;
export const forgottenHours = 1;

export function renderRegistration({ school, person, link }: { school: string; person: string; link: string }): Letter {
  return writeLetter(`Your login at ${school}`, [
    `Dear ${person},`,
    `${school} has made a login for you. Choose a password to begin:`,
    { link, label: 'Choose a password' },
    `The link opens once, within ${linkDays} days. If you did not expect this mail, tell your school.`,
  ]);
}

export function renderForgotten({ school, person, userName, link }: { school: string; person: string; userName: string; link: string }): Letter {
  return writeLetter(`A new password for your login at ${school}`, [
    `Dear ${person},`,
    `Somebody, we hope you, has forgotten the password of your login “${userName}” at ${school}. Choose a new one:`,
    { link, label: 'Choose a new password' },
    'The link opens once, within one hour. If it was not you who asked, nothing needs to be done: the password stays as it is.',
  ]);
}
