// In charge of the commands that show deliveries and repeat them.
import { SchoolbellError } from '../errors.ts';
import { announceMissing } from '../notifications/announce.ts';
import { deliveryStates } from '../notifications/deliveries.ts';
import { replayDelivery } from '../notifications/replay-delivery.ts';
import { callKind } from '../notifications/webhooks.ts';
import { listEndedLanes, replayFailedSince } from '../outbox/replay.ts';
import { optionalText, type Command } from './command.ts';
import { renderTable } from './table.ts';

const listed = 500;

type Attempt = {
  number: number;
  at: string;
  success: boolean;
  errorClass: string | null;
  status: number | null;
  message: string | null;
  response: string | null;
};
type Delivery = {
  id: string;
  estab: string;
  rp: string;
  event: string;
  method: string;
  url: string;
  state: string;
  attempts: number;
  created: Date;
  due: Date;
  settled: Date | null;
  disabled: string | null;
  body: Buffer | string | null;
  log: Attempt[];
};

export const deliveryCommands: readonly Command[] = [
  {
    name: 'deliveries',
    help: `Lists the latest ${listed} deliveries with their attempts.`,
    options: {
      state: { value: '<state>', help: deliveryStates.join(', ') },
      rp: { value: '<id>', help: 'of one application' },
      estab: { value: '<id>', help: 'of one establishment' },
    },
    async run({ db }, given) {
      const [state, rp, estab] = [optionalText(given, 'state'), optionalText(given, 'rp'), optionalText(given, 'estab')];
      if (state !== undefined && !deliveryStates.some((one) => one === state))
        throw new SchoolbellError('invalid_request', `--state "${state}": must be one of ${deliveryStates.join(', ')}`);
      const data = await db<Delivery[]>`
        select o.id, o.estab, o.rp, o.payload ->> 'event' as event, o.payload ->> 'method' as method, o.payload ->> 'url' as url, o.state, o.attempts,
          o.created_at as created, o.due_at as due, o.settled_at as settled, l.disabled_why as disabled,
          case when o.payload ->> 'contentType' = 'application/json' then o.body end as body,
          coalesce((select jsonb_agg(jsonb_build_object('number', a.number, 'at', a.at, 'success', a.success, 'errorClass', a.error_class, 'status',
            a.detail -> 'status', 'message', a.detail -> 'message',
            'address', a.detail -> 'address', 'timings', a.detail -> 'timings', 'request', a.detail -> 'request',
            'responseHeaders', a.detail -> 'responseHeaders', 'response', encode(a.response, 'base64'), 'nextAt', a.next_at) order by a.number)
            from outbox_attempt a where a.estab = o.estab and a.id = o.id), '[]') as log
        from outbox o join lane l on l.key = o.lane
        where o.kind = 'call' ${state ? db`and o.state = ${state}` : db``} ${rp ? db`and o.rp = ${rp}` : db``} ${estab ? db`and o.estab = ${estab}` : db``}
        order by o.created_at desc limit ${listed}`;
      const shown = data.map((one) => ({
        ...one,
        body: one.body?.toString('utf8') ?? null,
        log: one.log.map((attempt) => ({ ...attempt, response: attempt.response === null ? null : Buffer.from(attempt.response, 'base64').toString('utf8') })),
      }));
      return {
        data: shown,
        lines: renderTable(
          shown,
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
        ),
      };
    },
  },
  {
    name: 'replay',
    help: 'Delivers again under the same webhook-id: one delivery, all that failed since a time, or events that registrations were never told of.',
    positional: { name: '[<id>]', help: 'one delivery', optional: true },
    options: {
      'failed-since': { value: '<time>', help: 'for example 2026-11-01T00:00:00Z' },
      missing: { value: undefined, help: 'events that were never sent' },
    },
    async run({ db }, given) {
      const since = optionalText(given, 'failed-since');
      const [id, ...more] = given.positionals;
      const asked = [id, since, given.options.missing].filter((one) => one !== undefined);
      if (asked.length !== 1 || more.length > 0) throw new SchoolbellError('invalid_request', 'give one of: an id, --failed-since, --missing');
      if (given.options.missing) {
        const announced = Number(await db.begin((tx) => announceMissing(tx)));
        return { data: { announced }, lines: [`${announced} events will be sent`] };
      }
      if (since !== undefined && Number.isNaN(Date.parse(since)))
        throw new SchoolbellError('invalid_request', `--failed-since "${since}": not a time such as 2026-11-01T00:00:00Z`);
      if (id !== undefined) {
        const replayed = [(await replayDelivery(db, id)).id];
        return { data: { replayed }, lines: [`${replayed.length} deliveries will be sent again`] };
      }
      const from = new Date(since ?? '');
      const replayed = await replayFailedSince(db, callKind, from);
      const ended = await listEndedLanes(db, from);
      return {
        data: { replayed, left: ended },
        lines: [
          `${replayed.length} deliveries will be sent again`,
          ...ended.map(({ key, why, failed }) => `left alone: ${failed} of ${key}, which is disabled (${why}); replay one by its id to open it again`),
        ],
      };
    },
  },
];

function describeTrouble({ log, disabled }: { log: readonly Attempt[]; disabled: string | null }): string {
  const last = log.at(-1);
  return [last?.errorClass, last?.message, disabled && `disabled: ${disabled}`].filter(Boolean).join(', ');
}
