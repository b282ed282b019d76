// In charge of what the mails to people with a login say.
import { writeLetter, type Letter } from '../mail/letter.ts';

export const linkDays = 3;

export function renderRegistration({ school, person, link }: { school: string; person: string; link: string }): Letter {
  return writeLetter(`Your login at ${school}`, [
    `Dear ${person},`,
    `${school} has made a login for you. Choose a password to begin:`,
    { link, label: 'Choose a password' },
    `The link opens once, within ${linkDays} days. If you did not expect this mail, tell your school.`,
  ]);
}
