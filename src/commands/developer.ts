// In charge of the commands on the developers of applications, who see their own application in the console.
import { isAdminKept } from '../operators/admin.ts';
import { inviteDeveloper, listDevelopers, removeDeveloper, requireDeveloper } from '../operators/developers.ts';
import { optionalText, text, type Command, type Context } from './command.ts';
import { renderTable } from './table.ts';

const listed = 1_000;
const by = 'the operator of this service';
const rp = { value: '<id>', help: 'the application (relying party)' } as const;
const whom = { name: '<address>', help: 'the e-mail address that they sign in with' } as const;

const partsOf = ({ config }: Context) => ({ publicUrl: config.publicUrl, adminKept: isAdminKept(config) });

export const developerCommands: readonly Command[] = [
  {
    name: 'developer add',
    effect: 'changes',
    help: 'Invites a developer of an application to the console, where they see it alone; who has an account for another application is only told.',
    options: {
      rp: { ...rp, required: true },
      name: { value: '<name>', help: 'their name', required: true },
      email: { value: '<address>', help: 'where the link goes, and what they sign in as', required: true },
    },
    async run(context, given) {
      const wanted = { rp: text(given, 'rp'), name: text(given, 'name'), email: text(given, 'email'), by };
      const data = await inviteDeveloper(context.db, partsOf(context), wanted);
      const { name, signInName, link } = data;
      const who = `${name} (${signInName})`;
      const told = context.config.mail ? 'a mail says so' : 'e-mail is not set up, so tell them';
      const lines = link === undefined
        ? [`${who} is a developer of ${data.rp} as well, and their password stays; ${told}`]
        : [`invited ${who} as a developer of ${data.rp}; ${mailed(context, 'a mail is written')}. The link opens once, within 7 days:`, link];
      return { data, lines };
    },
  },
  {
    name: 'developer list',
    effect: 'reads',
    help: 'Lists the developers of applications.',
    options: { rp: { ...rp, help: 'those of one application' } },
    async run({ db }, given) {
      const data = await listDevelopers(db, { rp: optionalText(given, 'rp'), most: listed });
      return {
        data,
        lines: renderTable(
          data,
          [
            { title: 'rp', of: (one) => one.rp },
            { title: 'Signs in as', of: (one) => one.signInName },
            { title: 'Name', of: (one) => one.name, most: 40 },
            { title: 'Second factor', of: (one) => (one.hasSecondFactor ? 'on' : 'off') },
            { title: 'Last signed in', of: (one) => (one.invited ? 'invited' : (one.lastSignedIn ?? 'never')) },
          ],
          'nobody yet: invite somebody with: developer add',
        ),
      };
    },
  },
  {
    name: 'developer remove',
    effect: 'changes',
    help: 'Removes a developer from an application, who is signed out everywhere; with the last of their applications their account goes.',
    options: { rp: { ...rp, required: true } },
    positional: whom,
    async destroys({ db }, given) {
      const [of, address] = [text(given, 'rp'), given.positionals[0] ?? ''];
      const { name, others, invited } = await requireDeveloper(db, of, address);
      const lines = [others === 0 ? `  the account of ${name}` : `  what ${name} sees of ${of}; their account stays, for ${others} more`];
      const loss = { what: `The developer ${address} of ${of}`, data: { rp: of, signInName: address, name, account: others === 0 }, lines };
      // Who has chosen a password chooses another and sets up the second factor again.
      return invited ? { ...loss, again: true } : loss;
    },
    async run({ db }, given) {
      const data = await removeDeveloper(db, {}, { rp: text(given, 'rp'), signInName: given.positionals[0] ?? '' });
      return { data, lines: [`removed ${data.signInName} from ${data.rp}${data.accountRemoved ? ', and their account' : ''}`] };
    },
  },
];

const mailed = ({ config }: Context, words: string) => (config.mail ? words : 'e-mail is not set up, so nothing is mailed: hand the link on');
