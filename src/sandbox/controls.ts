// In charge of what the sandbox can do: a table which the command line, the API and the console all read. A row changes rows of the database
// alone; whoever is concerned finds them there.
import { misModes, type DemoMode } from '../collection/connectors/demo/demo-connector.ts';
import { mostYears, yearBeginning } from '../collection/connectors/demo/calendar.ts';
import { findMoment, namedMoments, parseMoment } from '../collection/connectors/demo/clock.ts';
import { happeningKinds, type HappeningKind } from '../collection/connectors/demo/happenings.ts';
import { behave, happen, readDemo, resetDemo, setDemoClock } from '../collection/steer-demo.ts';
import type { Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { eventFaults } from '../notifications/event-faults.ts';
import type { Field, Taken, Values } from './field.ts';
import { endFault, setFault, type FaultKind } from './faults.ts';
import type { Standing, Whom } from './standing.ts';

export type Control = Taken & Readonly<{
  /** Of the command, and of the end of the address. */
  name: string;
  /** What it steers: an application, or the schools, of which there must be one. */
  of: 'application' | 'schools';
  title: string;
  help: string;
  /** More of it, for the reference. */
  more: string;
  /** What its button says; without, that its fields are set. */
  button?: string;
  /** A body of the API. */
  example: Readonly<Record<string, unknown>>;
  /** What its fields are at present; without, nothing of it lasts. */
  inForce?(standing: Standing): Values;
  apply(tx: Tx, whom: Whom, values: Values, now: number): Promise<void>;
}>;

const normal = 'normal';
const usualMinutes = 60;
const longestMinutes = 24 * 60;
const minutes: Field = {
  name: 'minutes', label: 'For how many minutes', type: 'whole', least: 1, most: longestMinutes, help: `when it ends by itself; ${usualMinutes} unless given`,
};

export const controls: readonly Control[] = [
  {
    name: 'events',
    of: 'application',
    title: 'Events',
    help: 'Calls to the application are made twice, late, in another order, or never.',
    more:
      '`duplicated`: each call that arrives is made once more under the same `webhook-id`. `delayed`: it is made so many seconds after it was due. ' +
      '`out-of-order`: of two calls the second is made first; one that no other follows goes out after 30 seconds. `never`: it is not made; it stands ' +
      'among the deliveries as withheld, and goes out when it is replayed. Only calls that are new are concerned, not those that are tried again.',
    fields: [
      {
        name: 'mode', label: 'What happens to calls', type: 'choice', choices: [normal, ...eventFaults], required: true, first: true,
        help: 'what happens to them',
      },
      { name: 'seconds', label: 'Seconds', type: 'whole', least: 1, most: 3600, help: 'how late, if delayed; 30 unless given' },
      minutes,
    ],
    example: { Mode: 'duplicated', Minutes: 10 },
    inForce: ({ faults: { events } }) => ({ mode: events?.mode ?? normal, ...(events?.mode === 'delayed' ? { seconds: events.seconds ?? undefined } : {}) }),
    apply: (tx, { rp }, values) => steer(tx, rp, 'events', values, { mode: text(values, 'mode'), seconds: whole(values, 'seconds', 30) }),
  },
  {
    name: 'tokens',
    of: 'application',
    title: 'Tokens',
    help: 'Tokens that the application obtains from now on live so many seconds.',
    more: 'Of every kind: those of both rostering variants, school tokens and management tokens. Those that were obtained before live on.',
    fields: [
      { name: 'seconds', label: 'Seconds', type: 'whole', least: 0, most: 3600, required: true, help: 'how long they live; 0: as usual' },
      minutes,
    ],
    example: { Seconds: 5 },
    inForce: ({ faults: { tokens } }) => ({ seconds: tokens?.seconds ?? undefined }),
    apply: (tx, { rp }, values) =>
      steer(tx, rp, 'tokens', values, { mode: whole(values, 'seconds', 0) === 0 ? normal : 'short', seconds: whole(values, 'seconds', 0) }),
  },
  {
    name: 'answers',
    of: 'application',
    title: 'Answers',
    help: 'Requests of the application are answered 429 or 503: the next ones, or all for a time.',
    more:
      'With `Retry-After`, and for 429 with the headers of the limit, in the shape of errors of the API that was asked (variant A has 400 for 503, as ' +
      'always). Concerned are requests that present a token or secret of the application, but not those for a token, nor those of the sandbox itself.',
    fields: [
      { name: 'status', label: 'Answer', type: 'choice', choices: [normal, '429', '503'], required: true, first: true, help: 'what they are answered' },
      { name: 'count', label: 'How many', type: 'whole', least: 1, most: 10_000, help: 'how many requests; all of that time unless given' },
      { name: 'retry-after', label: 'Retry-After', type: 'whole', least: 1, most: 3600, help: 'the seconds that Retry-After says; 1 unless given' },
      minutes,
    ],
    example: { Status: '429', Count: 3, RetryAfter: 2 },
    inForce: ({ faults: { answers } }) =>
      ({ status: answers?.mode ?? normal, count: answers?.remaining ?? undefined, 'retry-after': answers?.seconds ?? undefined }),
    apply: (tx, { rp }, values) =>
      steer(tx, rp, 'answers', values, {
        mode: text(values, 'status'), seconds: whole(values, 'retry-after', 1), remaining: values.count as number | undefined,
      }),
  },
  {
    name: 'mis',
    of: 'schools',
    title: 'MIS',
    help: "The MIS of the demo schools is slow, offline, broken, rejects marks, or ends its files in the middle; it is collected at once.",
    more:
      '`half-written`: the file of enrolments ends in the middle of a row, and the registers after the first thousand marks: nothing of it may be taken. ' +
      'The others are those of the command `demo mode`.',
    fields: [
      { name: 'mode', label: 'How it behaves', type: 'choice', choices: misModes, required: true, first: true, help: 'how it behaves' },
      { ...minutes, help: 'when it is normal again; not by itself unless given' },
    ],
    example: { Mode: 'offline', Minutes: 5 },
    inForce: ({ schools: [school] }) => ({ mode: school?.mode }),
    async apply(tx, { estabs }, values, now) {
      const until = values.minutes === undefined ? null : new Date(now + whole(values, 'minutes', 0) * 60_000);
      for (const estab of estabs) await behave(tx, estab, text(values, 'mode') as DemoMode, until);
    },
  },
  {
    name: 'clock',
    of: 'schools',
    title: 'Clock',
    help: 'The clock of the demo schools is moved: to the start or end of a term, beyond the summer, to a date, or by a duration.',
    more:
      'It is collected at once. With `summer-roll-over` a new school year begins: pupils move up, the oldest leave, a new year 7 joins, and courses, ' +
      'classes and enrolments are new. It is the clock of the MIS: registers, comings and goings are those of its day, and it goes on from there. The ' +
      'clock of the service, of tokens and of what may be written back stays as it is. By itself a large loss, such as that of a roll-over, ' +
      'is held until somebody approves it, as in life, and `Held` says so; with `Force` it is let through.',
    fields: [
      { name: 'to', label: 'To', type: 'text', example: 'start-of-term', help: `one of ${namedMoments.join(', ')}; or now, a date, or an instant` },
      {
        name: 'by', label: 'By', type: 'text', example: '7d', help: 'a duration from where it stands: 30m, 12h, 7d; with a minus before it, back',
        typed: '(--by=-7d)',
      },
      { name: 'force', label: 'Let a large loss through', type: 'switch', help: 'let through what the new day does to the roster, however much of it goes' },
    ],
    either: ['to', 'by'],
    example: { To: '2027-01-04' },
    async apply(tx, { estabs }, values, now) {
      for (const estab of estabs) {
        const { clock } = await readDemo(tx, estab, now);
        await setDemoClock(tx, estab, findTarget(values, clock, now).getTime() - now, { force: values.force === true });
      }
    },
  },
  ...happeningKinds.map(describeHappening),
  {
    name: 'reset',
    of: 'application',
    title: 'Reset',
    button: 'Take everything back',
    help: 'Takes back everything that the sandbox does to the application and its demo schools.',
    more: 'The demo school is collected as it is by itself, whatever goes with that; registers of days that have not come are taken back.',
    fields: [],
    example: {},
    async apply(tx, { rp, estabs }) {
      await tx`delete from sandbox_fault where rp = ${rp}`;
      for (const estab of estabs) await resetDemo(tx, estab);
    },
  },
];

function describeHappening(kind: HappeningKind): Control {
  const words: Readonly<Record<HappeningKind, readonly [title: string, button: string, help: string, more: string]>> = {
    joiner: [
      'A joiner',
      'Let a pupil join',
      'A pupil joins the demo schools, with a parent and a timetable.',
      'A pupil of year 12, with the timetable of another.',
    ],
    leaver: [
      'A leaver',
      'Let a pupil leave',
      'A pupil leaves the demo schools.',
      'The pupil and their enrolments are to be deleted from then on; their parents stay.',
    ],
    'class-split': [
      'A class split',
      'Split a class',
      'A class of the demo schools becomes two: half of its pupils are enrolled in a new one.',
      'The class keeps its id and half of its pupils; the new one has the same course, periods and teachers. The enrolments of those who move end, and new ' +
        'ones begin.',
    ],
  };
  const [title, button, help, more] = words[kind];
  return {
    name: kind,
    of: 'schools',
    title,
    button,
    help,
    more: `${more} It is collected at once, so that deltas and database events follow. It stays until the sandbox is reset.`,
    fields: [],
    example: {},
    async apply(tx, { estabs }, _values, now) {
      for (const estab of estabs) await happen(tx, estab, kind, now);
    },
  };
}

const text = (values: Values, name: string) => String(values[name] ?? '');
const whole = (values: Values, name: string, otherwise: number) => (values[name] as number | undefined) ?? otherwise;

function steer(tx: Tx, rp: string, kind: FaultKind, values: Values, fault: { mode: string; seconds: number; remaining?: number | undefined }): Promise<void> {
  if (fault.mode === normal) return endFault(tx, rp, kind);
  return setFault(tx, rp, kind, { ...fault, minutes: whole(values, 'minutes', usualMinutes) });
}

const units: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
/** Beyond, the demo school has no calendar. */
const [earliest, latest] = [yearBeginning(0), yearBeginning(mostYears + 1)];

function findTarget({ to: given, by }: Values, clock: Date, now: number): Date {
  const to = given === undefined ? undefined : String(given).toLowerCase();
  const [, many = '', unit = ''] = /^(-?\d{1,5})([mhd])$/.exec(String(by ?? '')) ?? [];
  const named = namedMoments.find((one) => one === to);
  const target = by !== undefined
    ? new Date(clock.getTime() + Number(many) * (units[unit] ?? Number.NaN))
    : to === 'now' ? new Date(now) : named ? findMoment(named, clock) : parseMoment(String(given));
  if (!target || Number.isNaN(target.getTime()))
    throw new SchoolbellError(
      'invalid_request',
      by === undefined
        ? `"${String(given)}": must be ${namedMoments.join(', ')}, now, a day of the calendar such as 2027-01-04, or an instant such as 2027-01-04T10:00:00Z`
        : `"${String(by)}": must be a duration such as 30m, 12h, 7d, or -7d`,
    );
  if (to !== 'now' && (target.getTime() < Date.parse(earliest) || target.getTime() >= Date.parse(latest)))
    throw new SchoolbellError('invalid_request', `${target.toISOString()}: the demo school has a calendar from ${earliest} until before ${latest}`);
  return target;
}
