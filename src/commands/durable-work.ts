// In charge of the commands that show durable work and try it again.
import { describeWork, labelOfWork, requireWork, retryWork, workKinds } from '../durable-work.ts';
import { SchoolbellError } from '../errors.ts';
import { listWork, listWorkKinds, workStates, type Work } from '../outbox/list-work.ts';
import { optionalText, type Command } from './command.ts';
import { renderTable } from './table.ts';

const listed = 200;

export const workCommands: readonly Command[] = [
  {
    name: 'work list',
    effect: 'reads',
    help: `Lists the latest ${listed} pieces of durable work but calls (deliveries shows those): collecting, writebacks, mails, links.`,
    options: {
      kind: { value: '<kind>', help: `of one kind: ${workKinds.map(({ kind }) => kind).join(', ')}` },
      state: { value: '<state>', help: workStates.join(', ') },
      estab: { value: '<id>', help: 'of one establishment' },
    },
    async run({ db }, given) {
      const [kind, state, estab] = [optionalText(given, 'kind'), optionalText(given, 'state'), optionalText(given, 'estab')];
      const known = workStates.filter((one) => state === undefined || one === state);
      if (known.length === 0) throw new SchoolbellError('invalid_request', `--state "${state}": must be one of ${workStates.join(', ')}`);
      const kinds = kind === undefined ? await listWorkKinds(db) : [kind];
      const data = (await listWork(db, { kinds, states: known, estab, most: listed })).map(describe);
      return {
        data,
        lines: renderTable(
          data,
          [
            { title: 'Id', of: (one) => one.id },
            { title: 'Created', of: (one) => one.created },
            { title: 'Kind', of: (one) => one.kind },
            { title: 'State', of: (one) => (one.lost ? 'lost' : one.state) },
            { title: 'Estab', of: (one) => one.estab },
            { title: 'Attempts', of: (one) => one.attempts, right: true },
            { title: 'Next', of: (one) => (one.state === 'waiting' ? one.due : null) },
            { title: 'Since', of: (one) => one.since },
            { title: 'About', of: (one) => one.about, most: 50 },
            { title: 'Trouble', of: (one) => one.error },
          ],
          'no work',
        ),
      };
    },
  },
  {
    name: 'work retry',
    effect: 'changes',
    help: 'Tries a piece of work again: now instead of later, or once more although it had failed. A mail that was kept is sent, if SMTP_URL is set.',
    positional: { name: '<id>', help: 'as work list or mails shows it' },
    options: {},
    async about({ db }, { positionals: [id = ''] }) {
      const { estab, rp } = await requireWork(db, id);
      return { estab: estab === '' ? undefined : estab, rp: rp ?? undefined };
    },
    async run({ db }, given) {
      const [id = '', ...more] = given.positionals;
      if (more.length > 0) throw new SchoolbellError('invalid_request', 'give one id at a time');
      const work = await retryWork(db, id);
      return { data: { retried: id }, lines: [`${labelOfWork(work.kind)} ${id} is tried again`] };
    },
  },
];

/** Nothing of what it was given but what may be shown. */
function describe(work: Work) {
  const { estab, id, rp, kind, state, attempts, created, due, settled, since, by, lost, errorClass, error } = work;
  return { estab, id, rp, kind, state, about: describeWork(work), attempts, created, due, settled, since, by, lost, errorClass, error };
}
