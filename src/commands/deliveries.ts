// In charge of the commands that show deliveries and repeat them.
import { SchoolbellError } from '../errors.ts';
import { formatMany } from '../http/pages/figures.ts';
import { explainFault } from '../http/explain-fault.ts';
import { printable } from '../http/printable.ts';
import { announceMissing } from '../notifications/announce.ts';
import { browseDeliveries, deliveryEvents, type Browsing } from '../notifications/browse-deliveries.ts';
import { deliveryStates, findDelivery, findOwnerOfDelivery, type Attempt } from '../notifications/deliveries.ts';
import { replayDelivery, replayFailed } from '../notifications/replay-delivery.ts';
import { requireTarget } from '../notifications/targets.ts';
import { optionalText, optionalTime, type Command, type Context, type Given } from './command.ts';
import { renderTable } from './table.ts';

const listed = 500;
const mostReplayed = 1_000_000;

type Shown = {
  id: string;
  created: Date;
  state: string;
  estab: string;
  rp: string;
  event: string | null;
  method: string | null;
  url: string | null;
  attempts: number;
  due: Date;
  settled: Date | null;
  disabled: string | null;
  body: string | null;
  log: ReturnType<typeof showAttempt>[];
};

const about: Command['about'] = async ({ db }, { positionals: [id] }) => (id === undefined ? undefined : findOwnerOfDelivery(db, id));

export const deliveryCommands: readonly Command[] = [
  {
    name: 'deliveries',
    // What a writeback says names pupils.
    effect: 'looks',
    help: `Lists the latest ${listed} deliveries with their attempts, or one.`,
    positional: { name: '[<id>]', help: 'one delivery', optional: true },
    about,
    options: {
      state: { value: '<state>', help: deliveryStates.join(', ') },
      rp: { value: '<id>', help: 'of one application' },
      estab: { value: '<id>', help: 'of one establishment' },
      kind: { value: '<event>', help: deliveryEvents.join(', ') },
      target: { value: '<id>', help: 'of one target, as target list names it' },
      since: { value: '<time>', help: 'for example 2026-11-01T00:00:00Z' },
      until: { value: '<time>', help: 'the time before which they were made' },
      before: { value: '<place>', help: 'where the list before ended, as it says' },
    },
    async run(context, given) {
      const [id] = given.positionals;
      const browsed = id === undefined ? await browse(context, given) : { ids: [id], next: undefined };
      const data: Shown[] = [];
      for (const one of browsed.ids) {
        const shown = await show(context, one);
        if (shown) data.push(shown);
        else if (id !== undefined)
          throw new SchoolbellError('not_found', `There is no delivery ${id.slice(0, 60)}; what was settled is kept for 30 days at most.`);
      }
      const lines = renderTable(
        data,
        [
          { title: 'Id', of: (one) => one.id },
          { title: 'Created', of: (one) => one.created },
          { title: 'State', of: (one) => one.state },
          { title: 'Estab', of: (one) => one.estab },
          { title: 'rp', of: (one) => one.rp },
          { title: 'Event', of: (one) => one.event },
          { title: 'Attempts', of: (one) => one.attempts, right: true },
          { title: 'Next', of: (one) => (one.state === 'waiting' ? one.due : null) },
          { title: 'URL', of: (one) => one.url, most: 60 },
          { title: 'Trouble', of: describeTrouble },
        ],
        'no deliveries',
      );
      if (browsed.next !== undefined) lines.push(`there may be more: --before ${browsed.next}`);
      return { data, lines: id === undefined ? lines : [...lines, ...data.flatMap(adviseOn)] };
    },
  },
  {
    name: 'replay',
    effect: 'changes',
    help: 'Delivers again under the same webhook-id: one delivery, all that failed since a time, or events that registrations were never told of.',
    positional: { name: '[<id>]', help: 'one delivery', optional: true },
    about,
    options: {
      'failed-since': { value: '<time>', help: 'for example 2026-11-01T00:00:00Z' },
      rp: { value: '<id>', help: 'of what failed, that of one application' },
      target: { value: '<id>', help: 'of what failed, that of one target, as target list names it' },
      missing: { value: undefined, help: 'events that were never sent' },
    },
    async run({ db }, given) {
      const since = optionalTime(given, 'failed-since');
      const [id, ...more] = given.positionals;
      const asked = [id, since, given.options.missing].filter((one) => one !== undefined);
      if (asked.length !== 1 || more.length > 0) throw new SchoolbellError('invalid_request', 'give one of: an id, --failed-since, --missing');
      const [rp, target] = [optionalText(given, 'rp'), optionalText(given, 'target')];
      if (since === undefined && (rp !== undefined || target !== undefined))
        throw new SchoolbellError('invalid_request', '--rp and --target go with --failed-since');
      if (given.options.missing) {
        const announced = Number(await db.begin((tx) => announceMissing(tx)));
        return { data: { announced }, lines: [`${formatMany(announced, 'event')} will be sent`] };
      }
      if (since === undefined) {
        const { id: sent, paused } = await replayDelivery(db, id ?? '');
        return {
          data: { replayed: [sent] },
          lines: ['1 delivery will be sent again', ...(paused ? ['its target is paused: it is sent when that is resumed'] : [])],
        };
      }
      const lane = target === undefined ? undefined : (await requireTarget(db, target)).key;
      const { replayed, left } = await replayFailed(db, { since, rp, lane, most: mostReplayed });
      return {
        data: { replayed, left },
        lines: [
          `${formatMany(replayed.length, 'delivery', 'deliveries')} will be sent again`,
          ...left.map(({ key, why, failed }) => `left alone: ${failed} of ${key}, which is disabled (${why}); replay one by its id to open it again`),
        ],
      };
    },
  },
];

async function browse({ db }: Context, given: Given): Promise<{ ids: string[]; next: string | undefined }> {
  const oneOf = <T extends string>(name: string, known: readonly T[]): T | undefined => {
    const value = optionalText(given, name);
    const found = known.find((one) => one === value);
    if (value !== undefined && found === undefined) throw new SchoolbellError('invalid_request', `--${name} "${value}": must be one of ${known.join(', ')}`);
    return found;
  };
  const target = optionalText(given, 'target');
  const asked: Omit<Browsing, 'most' | 'before'> = {
    state: oneOf('state', deliveryStates),
    event: oneOf('kind', deliveryEvents),
    rp: optionalText(given, 'rp'),
    estab: optionalText(given, 'estab'),
    lane: target === undefined ? undefined : (await requireTarget(db, target)).key,
    since: optionalTime(given, 'since'),
    until: optionalTime(given, 'until'),
  };
  const ids: string[] = [];
  let next = optionalText(given, 'before');
  do {
    const page = await browseDeliveries(db, { ...asked, before: next, most: listed - ids.length });
    ids.push(...page.deliveries.map(({ id }) => id));
    next = page.next;
  } while (next !== undefined && ids.length < listed);
  return { ids, next };
}

async function show({ db }: Context, id: string): Promise<Shown | undefined> {
  const one = await findDelivery(db, { rp: undefined, estab: undefined }, id);
  if (!one) return undefined;
  const { estab, rp, event, method, url, state, attempts, createdAt, dueAt, settledAt, targetWhy, body, log } = one;
  const at = { created: createdAt, due: dueAt, settled: settledAt };
  return { id, estab, rp, event, method, url, state, attempts, ...at, disabled: targetWhy, body: body?.toString('utf8') ?? null, log: log.map(showAttempt) };
}

function showAttempt({ headers, response, ...attempt }: Attempt) {
  return { ...attempt, responseHeaders: headers, response: response?.toString('utf8') ?? null };
}

/** What its page says first. */
function adviseOn({ state, log }: Shown): string[] {
  const last = log.at(-1);
  const fault = state === 'done' || !last ? undefined : explainFault(last, { over: state !== 'waiting' && state !== 'running' });
  return fault ? [printable(fault.what, ' '), fault.advice] : [];
}

function describeTrouble({ log, disabled }: Shown): string {
  const last = log.at(-1);
  return [last?.errorClass, last?.message, disabled && `disabled: ${disabled}`].filter(Boolean).join(', ');
}
