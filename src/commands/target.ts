// In charge of the commands for targets: how each is doing, pausing it and letting it go on, opening and testing it.
import { SchoolbellError } from '../errors.ts';
import { enableTarget, pauseTarget, resumeTarget, testTarget } from '../notifications/steer-target.ts';
import { findOwnerOfTarget, listTargets, mostWaiting, targetStates, type Target } from '../notifications/targets.ts';
import { optionalText, type Command } from './command.ts';
import { renderTable } from './table.ts';

const pageLength = 500;
const id = { name: '<id>', help: 'the id of a registration, callback:<rp>, or one-off:<rp>:<origin>' } as const;

const about: Command['about'] = ({ db }, { positionals }) => findOwnerOfTarget(db, positionals[0] ?? '');

export const targetCommands: readonly Command[] = [
  {
    name: 'target list',
    effect: 'reads',
    help: 'Lists targets of calls: registrations, callback URLs and the origins of one-off URLs.',
    options: {
      state: { value: '<state>', help: targetStates.join(', ') },
      rp: { value: '<id>', help: 'of one application' },
      estab: { value: '<id>', help: 'the registrations at one establishment' },
    },
    async run({ db }, given) {
      const asked = optionalText(given, 'state');
      const state = targetStates.find((one) => one === asked);
      if (asked !== undefined && state === undefined)
        throw new SchoolbellError('invalid_request', `--state "${asked}": must be one of ${targetStates.join(', ')}`);
      const targets: Target[] = [];
      for (let after: string | undefined, more = true; more; after = targets.at(-1)?.id) {
        const page = await listTargets(db, { state, rp: optionalText(given, 'rp'), estab: optionalText(given, 'estab'), after, most: pageLength });
        targets.push(...page);
        more = page.length > 0;
      }
      return {
        data: targets,
        lines: renderTable(
          targets,
          [
            { title: 'Id', of: (one) => one.id },
            { title: 'rp', of: (one) => one.rp },
            { title: 'Estab', of: (one) => one.estab },
            { title: 'Database', of: (one) => one.databaseName },
            { title: 'Waiting', of: (one) => (one.waiting === mostWaiting ? `${mostWaiting} or more` : one.waiting), right: true },
            { title: 'Next', of: (one) => one.nextAt },
            { title: 'Failing since', of: (one) => one.failingSince },
            { title: 'Paused', of: (one) => one.pausedAt },
            { title: 'Disabled', of: (one) => one.disabledWhy },
            { title: 'URL', of: (one) => one.url },
          ],
          'no targets',
        ),
      };
    },
  },
  {
    name: 'target pause',
    effect: 'changes',
    help: 'Sends nothing to a target until it is resumed; what comes meanwhile waits.',
    positional: id,
    options: {},
    about,
    run: async ({ db }, given) => describe(await pauseTarget(db, one(given.positionals), 'the command line'), 'is paused; what comes meanwhile waits'),
  },
  {
    name: 'target resume',
    effect: 'changes',
    help: 'Sends to a paused target again, first what has waited.',
    positional: id,
    options: {},
    about,
    async run({ db }, given) {
      const target = await resumeTarget(db, one(given.positionals));
      const still = target.disabledAt === null ? 'goes on; what has waited is sent' : `is not paused any more, but disabled: ${target.disabledWhy ?? ''}`;
      return describe(target, still);
    },
  },
  {
    name: 'target enable',
    effect: 'changes',
    help: 'Opens a target again that was disabled after five days of failures or a 410.',
    positional: id,
    options: {},
    about,
    async run({ db }, given) {
      const target = await enableTarget(db, one(given.positionals));
      return describe(target, `is ${target.pausedAt ? 'enabled, but paused: target resume lets it go on' : 'tried again'}; what had failed can be replayed`);
    },
  },
  {
    name: 'target test',
    effect: 'changes',
    help: 'Sends a test event to a registration, or a test form to a callback URL.',
    positional: id,
    options: {},
    about,
    async run({ db }, given) {
      const delivery = await testTarget(db, one(given.positionals));
      return { data: { delivery }, lines: [`a test is sent: deliveries ${delivery} shows what became of it`] };
    },
  },
];

function one(ids: readonly string[]): string {
  if (ids.length !== 1) throw new SchoolbellError('invalid_request', 'give one id, as target list names it');
  return ids[0] ?? '';
}

function describe({ id: named, url }: Target, what: string) {
  return { data: { id: named, url }, lines: [`${named} (${url}) ${what}`] };
}
