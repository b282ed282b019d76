// In charge of the commands by which the operator acts for a school: inviting it, and deciding in its place.
import { parseScopes } from '../access/scopes.ts';
import { SchoolbellError } from '../errors.ts';
import { approve, change, changeScopes } from '../onboarding/approve.ts';
import { invite, withdraw } from '../onboarding/invitations.ts';
import { optionalText, text, type Command, type Context, type Given } from './command.ts';
import { shownOnce } from './secrets.ts';
import { renderPairs } from './table.ts';

const rp = { value: '<id>', help: 'the application (relying party)', required: true } as const;
const estab = { value: '<id>', help: 'the establishment', required: true } as const;

const deciding = ({ db, seal, config }: Context) => ({ db, seal, publicUrl: config.publicUrl });
const pairOf = (given: Given) => ({ rp: text(given, 'rp'), estab: text(given, 'estab'), actor: 'operator' as const });

function changeCommand(name: 'pause' | 'resume' | 'revoke', help: string): Command {
  return {
    name,
    effect: 'changes',
    help,
    options: { rp, estab },
    async run(context, given) {
      const pair = pairOf(given);
      const { state, stopped } = await change(deciding(context), name, pair);
      return {
        data: { rp: pair.rp, estab: pair.estab, state, stopped },
        lines: [`${pair.rp} at ${pair.estab}: ${state}${stopped > 0 ? `; ${stopped} waiting calls were stopped` : ''}`],
      };
    },
  };
}

export const authorisationCommands: readonly Command[] = [
  {
    name: 'invite',
    effect: 'changes',
    help: 'Asks a school to decide about an application; the link is mailed to its address of record, if e-mail is set up, and printed.',
    options: {
      rp,
      estab,
      name: { value: '<name>', help: "the school's name, if it is not known yet" },
      email: { value: '<address>', help: "the school's address of record, if it is not known yet" },
      reason: { value: '<text>', help: 'why the data is needed, as the school will read it' },
      withdraw: { value: undefined, help: 'take the invitation back' },
    },
    async run({ db, config }, given) {
      const pair = { rp: text(given, 'rp'), estab: text(given, 'estab') };
      if (given.options.withdraw === true) {
        const { schoolRemoved } = await withdraw(db, { ...pair, by: 'operator' });
        const removed = schoolRemoved ? [`${pair.estab} was removed with it: nobody had confirmed the school, and no other application had proposed it`] : [];
        return { data: { ...pair, state: 'Withdrawn' }, lines: [`the invitation of ${pair.rp} to ${pair.estab} was withdrawn`, ...removed] };
      }
      const { state, link } = await invite(db, config.publicUrl, {
        ...pair,
        schoolName: text(given, 'name'),
        contactEmail: text(given, 'email'),
        reason: optionalText(given, 'reason') ?? null,
        scopes: undefined,
        by: 'operator',
      });
      if (state === 'Proposed')
        throw new SchoolbellError(
          'conflict',
          `nobody has confirmed ${pair.estab} yet: school confirm --estab ${pair.estab} --email …; the invitation goes out then`,
        );
      const where = config.mail ? 'the link, which was mailed to the school' : 'e-mail is not set up, so nothing was mailed: hand this link to the school';
      return { data: { ...pair, state, link }, lines: [`invited ${pair.estab}; ${where}:`, link ?? ''] };
    },
  },
  {
    name: 'authorise',
    effect: 'changes',
    help: "Approves an application for a school, as the school's own approval would.",
    options: { rp, estab, scopes: { value: '<list>', help: 'what is granted; unless given, the required scopes and the optional ones that are granted now' } },
    async run(context, given) {
      const data = await approve(deciding(context), { ...pairOf(given), scopes: optionalText(given, 'scopes') });
      return { data, lines: [...renderPairs({ ...data, scopes: data.scopes.join(',') }), shownOnce] };
    },
  },
  {
    name: 'scopes',
    effect: 'changes',
    help: 'Changes which optional scopes an application has at a school; it goes on with the secret that it has. What it requires stays.',
    options: { rp, estab, scopes: { value: '<list>', help: 'the optional scopes that it has from now on; none, if it is empty', required: true } },
    async run(context, given) {
      const pair = pairOf(given);
      const scopes = await changeScopes(deciding(context), { ...pair, scopes: parseOptional(text(given, 'scopes')) });
      return { data: { rp: pair.rp, estab: pair.estab, scopes }, lines: [`${pair.rp} at ${pair.estab}: ${scopes.join(', ') || 'nothing'}`] };
    },
  },
  changeCommand('pause', 'Pauses an authorisation; tokens stop at the next call.'),
  changeCommand('resume', 'Resumes a paused authorisation.'),
  changeCommand('revoke', 'Revokes an authorisation; tokens stop at the next call.'),
];

function parseOptional(list: string): string[] {
  if (list.trim() === '') return [];
  const { required, optional } = parseScopes(list);
  return [...required, ...optional];
}
