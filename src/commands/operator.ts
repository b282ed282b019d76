// In charge of the commands on operators of the console.
import { isAdminKept } from '../operators/admin.ts';
import {
  editOperator, findSignInName, inviteAgain, inviteOperator, listOperators, removeOperator, requireOperatorLine, requireSecondFactorOfAll, roles,
  type Invited, type OperatorParts,
} from '../operators/operators.ts';
import { isSecondFactorRequired } from '../operators/second-factor.ts';
import { SchoolbellError } from '../errors.ts';
import { optionalText, text, type Command, type Context, type Given, type Outcome } from './command.ts';
import { renderTable } from './table.ts';

const listed = 1_000;
const whom = { name: '<operator>', help: 'the e-mail address of the operator, their name, or admin' } as const;
const roleOption = { value: '<role>', help: `${roles.join(' or ')}` } as const;
const by = 'the operator of this service';

const partsOf = ({ config }: Context): OperatorParts => ({ publicUrl: config.publicUrl, adminKept: isAdminKept(config) });
const nameOf = ({ db }: Context, { positionals }: Given) => findSignInName(db, positionals[0] ?? '');

export const operatorCommands: readonly Command[] = [
  {
    name: 'operator add',
    effect: 'changes',
    help: 'Invites somebody to the console, by a mail with a link to choose a password; prints the link as well.',
    options: {
      name: { value: '<name>', help: 'their name', required: true },
      email: { value: '<address>', help: 'where the link goes, and what they sign in as', required: true },
      role: { ...roleOption, help: `${roleOption.help}: sees and changes everything, or sees everything and changes nothing; viewer unless given` },
    },
    async run(context, given) {
      const wanted = { name: text(given, 'name'), email: text(given, 'email'), role: optionalText(given, 'role') ?? 'viewer', by };
      return renderInvited(await inviteOperator(context.db, partsOf(context), wanted), context);
    },
  },
  {
    name: 'operator invite',
    effect: 'changes',
    help: 'Sends the invitation of an operator who has not chosen a password yet once more, with a new link.',
    options: {},
    positional: whom,
    async run(context, given) {
      return renderInvited(await inviteAgain(context.db, partsOf(context), await nameOf(context, given), by), context);
    },
  },
  {
    name: 'operator list',
    effect: 'reads',
    help: 'Lists who may come to the console.',
    options: {},
    async run({ db }) {
      const data = await listOperators(db, { most: listed });
      return {
        data,
        lines: renderTable(
          data,
          [
            { title: 'Signs in as', of: (one) => one.signInName },
            { title: 'Name', of: (one) => one.name, most: 40 },
            { title: 'Role', of: (one) => one.role },
            { title: 'Second factor', of: (one) => (one.hasSecondFactor ? 'on' : 'off') },
            { title: 'Last signed in', of: (one) => (one.invited ? 'invited' : (one.lastSignedIn ?? 'never')) },
          ],
          'nobody yet: set ADMIN_PASSWORD, or invite somebody with: operator add',
        ),
      };
    },
  },
  {
    name: 'operator edit',
    effect: 'changes',
    help: 'Gives an operator another name or role, or resets the second factor of one who has lost it; after either of these their sessions end.',
    options: {
      name: { value: '<name>', help: 'as the trail and other operators see it' },
      role: roleOption,
      'reset-second-factor': { value: undefined, help: 'for somebody who has lost both phone and recovery codes' },
    },
    positional: whom,
    async run(context, given) {
      const [name, called, role] = [await nameOf(context, given), optionalText(given, 'name'), optionalText(given, 'role')];
      const reset = given.options['reset-second-factor'] === true;
      if (called === undefined && role === undefined && !reset)
        throw new SchoolbellError('invalid_request', 'give --name, --role, --reset-second-factor or several of them');
      await editOperator(context.db, partsOf(context), name, { name: called, role, resetsSecondFactor: reset });
      const data = await requireOperatorLine(context.db, name);
      return { data, lines: [`${data.signInName} (${data.name}) is ${data.role}, with the second factor ${data.hasSecondFactor ? 'on' : 'off'}`] };
    },
  },
  {
    name: 'operator remove',
    effect: 'changes',
    help: 'Removes an operator, who is signed out everywhere. The last admin stays, and so does admin while its password is a setting.',
    options: {},
    positional: whom,
    async destroys(context, given) {
      const { signInName, name, invited } = await requireOperatorLine(context.db, await nameOf(context, given));
      const loss = { what: `The operator ${signInName}`, data: { signInName, name }, lines: [`  the account of ${name}`] };
      // Who has chosen a password chooses another and sets up the second factor again.
      return invited ? { ...loss, again: true } : loss;
    },
    async run(context, given) {
      const signInName = await nameOf(context, given);
      await removeOperator(context.db, partsOf(context), signInName);
      return { data: { signInName, removed: true }, lines: [`removed ${signInName}`] };
    },
  },
  {
    name: 'operator second-factor',
    effect: 'changes',
    help: 'Says whether all operators need a second factor, or changes it.',
    options: { required: { value: '<yes|no>', help: 'yes: whoever has none sets it up before anything else opens' } },
    async run(context, given) {
      const wanted = optionalText(given, 'required');
      if (wanted !== undefined && wanted !== 'yes' && wanted !== 'no') throw new SchoolbellError('invalid_request', '--required: yes or no');
      if (wanted !== undefined) await requireSecondFactorOfAll(context.db, partsOf(context), wanted === 'yes');
      const required = await isSecondFactorRequired(context.db);
      return { data: { required }, lines: [required ? 'every operator needs a second factor' : 'a second factor is up to each operator'] };
    },
  },
];

function renderInvited(invited: Invited, { config }: Context): Outcome {
  const { name, signInName, role, link } = invited;
  const mailed = config.mail ? 'a mail is written' : 'e-mail is not set up, so nothing is mailed: hand this link on';
  return { data: invited, lines: [`invited ${name} (${signInName}) as ${role}; ${mailed}. The link opens once, within 7 days:`, link] };
}
