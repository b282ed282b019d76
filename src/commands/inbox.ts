// In charge of the commands for inboxes: places of an application that take calls and show them in the console.
import { inboxUrl } from '../notifications/inbox/address.ts';
import { addInbox, editInbox, emptyInbox, inboxAnswers, listInboxes, removeInbox, requireInbox, type Inbox } from '../notifications/inbox/inboxes.ts';
import { requireApplication } from '../access/applications.ts';
import { optionalText, text, type Command, type Context, type Given, type Loss } from './command.ts';
import { renderTable } from './table.ts';

const rp = { value: '<id>', help: 'the application (relying party)', required: true } as const;
const answer = { value: '<how>', help: `how it answers: ${inboxAnswers.join(', ')}` } as const;
const positional = { name: '<inbox>', help: 'its id, as inbox list names it' } as const;

export const inboxCommands: readonly Command[] = [
  {
    name: 'inbox add',
    effect: 'changes',
    help: 'Makes an inbox of an application: an address that takes calls, which the console shows.',
    options: { rp, name: { value: '<name>', help: 'what it is for', required: true }, answer },
    async run({ db, seal, config }, given) {
      const made = await addInbox(db, seal, { rp: text(given, 'rp'), name: text(given, 'name'), answer: optionalText(given, 'answer') ?? '200' });
      const url = inboxUrl(config.publicUrl, made.key);
      return { data: { ...made, url }, lines: [`the inbox ${made.name} of ${made.rp} takes calls at:`, url] };
    },
  },
  {
    name: 'inbox list',
    effect: 'reads',
    help: 'Lists the inboxes of an application.',
    options: { rp },
    async run({ db, config }, given) {
      const { rp: known } = await requireApplication(db, text(given, 'rp'));
      const inboxes = (await listInboxes(db, known)).map((one) => ({ ...one, url: inboxUrl(config.publicUrl, one.key) }));
      return {
        data: inboxes,
        lines: renderTable(
          inboxes,
          [
            { title: 'Id', of: (one) => one.id },
            { title: 'Name', of: (one) => one.name, most: 30 },
            { title: 'Answers', of: (one) => one.answer },
            { title: 'Calls', of: (one) => one.calls, right: true },
            { title: 'Last call', of: (one) => one.lastCall },
            { title: 'Address', of: (one) => one.url },
          ],
          'no inboxes; make one with: inbox add',
        ),
      };
    },
  },
  {
    name: 'inbox edit',
    effect: 'changes',
    help: 'Says how an inbox answers from now on.',
    positional,
    options: { rp, answer: { ...answer, required: true } },
    async run({ db }, given) {
      const inbox = await editInbox(db, { ...which(given), answer: text(given, 'answer') });
      return { data: inbox, lines: [`the inbox ${inbox.name} of ${inbox.rp} answers ${inbox.answer} from now on`] };
    },
  },
  {
    name: 'inbox empty',
    effect: 'changes',
    help: 'Forgets the calls that came into an inbox.',
    positional,
    options: { rp },
    destroys: describeLoss,
    async run({ db }, given) {
      const { rp: known, id } = which(given);
      const calls = await emptyInbox(db, known, id);
      return { data: { id, calls }, lines: [`${calls} calls are forgotten`] };
    },
  },
  {
    name: 'inbox remove',
    effect: 'changes',
    help: 'Removes an inbox with what came into it; its address is none any more.',
    positional,
    options: { rp },
    destroys: describeLoss,
    async run({ db }, given) {
      const { rp: known, id } = which(given);
      const inbox = await removeInbox(db, known, id);
      return { data: inbox, lines: [`the inbox ${inbox.name} of ${inbox.rp} is removed; what is still sent there fails`] };
    },
  },
];

const which = (given: Given): Pick<Inbox, 'rp' | 'id'> => ({ rp: text(given, 'rp'), id: given.positionals[0] ?? '' });

async function describeLoss({ db }: Context, given: Given): Promise<Loss> {
  const { rp: known, id } = which(given);
  const { name, calls } = await requireInbox(db, known, id);
  return { what: `what came into the inbox ${name} of ${known}`, data: { calls }, lines: [`calls: ${calls}`] };
}
