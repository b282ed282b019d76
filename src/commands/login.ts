// The commands with which the operator unlocks or resets the login of a person at a school.
import { requireEstablishment } from '../access/establishments.ts';
import { requireLogin, resetLogin, subjectOf, unlockLogin } from '../identity/steer-login.ts';
import { text, type Command, type Context, type Given } from './command.ts';

const options = {
  estab: { value: '<id>', help: 'the establishment', required: true },
  user: { value: '<name>', help: 'the user name or the work e-mail address', required: true, secret: true },
} as const;

async function whichLogin({ db }: Context, given: Given): Promise<{ estab: string; user: string }> {
  const { estab } = await requireEstablishment(db, text(given, 'estab'));
  return { estab, user: text(given, 'user') };
}

const about: Command['about'] = async (context, given) => ({ subject: subjectOf(await requireLogin(context.db, await whichLogin(context, given))) });

export const loginCommands: readonly Command[] = [
  {
    name: 'login unlock',
    effect: 'changes',
    help: 'Ends the lock of a login after wrong passwords.',
    options,
    about,
    async run(context, given) {
      const which = await whichLogin(context, given);
      const { presence, wasLocked } = await unlockLogin(context.db, which);
      const user = presence.userName;
      return {
        data: { estab: which.estab, user, wasLocked },
        lines: [wasLocked ? `${user} at ${which.estab} is unlocked` : `${user} at ${which.estab} was not locked; wrong passwords count from zero again`],
      };
    },
  },
  {
    name: 'login reset',
    effect: 'changes',
    help: 'Ends the lock and the sessions of a login, and mails a link to choose a new password; prints the link too.',
    options,
    about,
    async run(context, given) {
      const which = await whichLogin(context, given);
      const { presence, to, link } = await resetLogin(context.db, context.config.publicUrl, which);
      const user = presence.userName;
      const where = to === null ? 'the school has no e-mail address for this person: hand this link on' : describeLink(context, to);
      return { data: { estab: which.estab, user, to, link }, lines: [`${user} at ${which.estab} is reset, and its sessions have ended; ${where}:`, link] };
    },
  },
];

function describeLink({ config }: Context, to: string): string {
  return config.mail ? `this link is mailed to ${to}` : `e-mail is not set up, so nothing was mailed to ${to}: hand this link on`;
}
