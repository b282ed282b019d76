// In charge of the judgement at the end of a drill: all that was acknowledged is there, once, and whoever was to be called was.
import { existsSync, readdirSync } from 'node:fs';
import { until } from '../until.ts';
import { kinds, type Answered, type AskBook } from './ask-book.ts';
import type { SchoolCaller } from './caller.ts';
import type { Receiver } from './receiver.ts';
import { numbered, numberIn } from './school.ts';
import type { Acknowledged, SentPackage, Writers } from './writers.ts';

export type Found = { acknowledged: number; found: number };

/** Work that a worker lost sight of is done when its lease ends, and what failed then a little later. */
const patienceSeconds = 100;

type Judged = { caller: SchoolCaller; writers: Writers; receiver: Receiver; marksFolder: string };

export async function judgeSchool(book: AskBook, { caller, writers, receiver, marksFolder }: Judged, patience = patienceSeconds): Promise<Found> {
  const { acknowledged } = writers;
  const eventually = (holds: () => boolean | Promise<boolean>) => until('', holds, undefined, patience).catch(() => {});
  const missing: string[] = [];
  const miss = (what: string, which: string) => {
    missing.push(which);
    book.fault(what, `${which} of ${caller.school.estab}`);
  };

  const outcomes = await findOutcomes(caller, acknowledged, eventually);
  for (const { trackingId } of acknowledged.marks)
    if (outcomes.get(trackingId) !== 'Completed') miss('marks were acknowledged and not written', `${trackingId}: ${outcomes.get(trackingId)}`);
  judgeFiles(book, acknowledged, marksFolder, miss);
  await judgeRegister(book, caller, acknowledged, miss);

  const callsWith = (word: string) => receiver.deliveries().filter(({ path, body }) => path.includes(word) || body.includes(word));
  const expected = [...acknowledged.marks.filter(({ called }) => called).map(({ trackingId }) => trackingId), ...acknowledged.requests];
  await eventually(() => expected.every((word) => callsWith(word).length > 0));
  for (const word of expected) {
    const { length } = callsWith(word);
    if (length === 0) miss('a call was promised and never made', word);
    if (length > 1) book.fault('a call was made under two ids', word);
  }

  const begun = performance.now();
  const sent = await writers.sendPackage();
  await judgePackages(book, caller, acknowledged, sent, miss);
  const { text } = await patient(() => caller.s(kinds.register, 'Webhook'));
  const [standing] = (JSON.parse(text) as { Webhook?: { Url: string }[] }).Webhook ?? [];
  // One more may have been made, although nobody could say so.
  const { length } = acknowledged.hooks;
  if (![length - 1, length].some((at) => standing?.Url === writers.hookAt(at)))
    miss('a registration is gone', `${standing?.Url} is there in place of ${writers.hookAt(length - 1)}`);
  const isTold = () => receiver.deliveries().some(({ path, at }) => standing?.Url.endsWith(path) && at.some((moment) => moment > begun));
  await eventually(isTold);
  if (!isTold()) miss('a registration was not told of a change', String(standing?.Url));

  const all = acknowledged.marks.length + acknowledged.packages.length + acknowledged.hooks.length + acknowledged.requests.length;
  return { acknowledged: all, found: all - new Set(missing).size };
}

async function findOutcomes(
  caller: SchoolCaller,
  { marks }: Acknowledged,
  eventually: (holds: () => Promise<boolean>) => Promise<void>,
): Promise<Map<string, string>> {
  const outcomes = new Map<string, string>();
  const look = async () => {
    for (const { trackingId } of marks) {
      if (outcomes.has(trackingId) && outcomes.get(trackingId) !== 'Pending') continue;
      const { status, text } = await caller.s(kinds.outcome, `Writeback/${trackingId}`);
      outcomes.set(trackingId, status === 200 ? (JSON.parse(text) as { Status: string }).Status : `answered ${status}`);
    }
    return [...outcomes.values()].every((status) => status !== 'Pending');
  };
  await eventually(look);
  return outcomes;
}

type Miss = (what: string, which: string) => void;

/** A file is what the MIS was given: one of each writeback, and of each mark one writeback. */
function judgeFiles(book: AskBook, { marks }: Acknowledged, folder: string, miss: Miss): void {
  const files = new Set(existsSync(folder) ? readdirSync(folder).map((name) => name.replace(/\.csv$/, '')) : []);
  const known = new Set(marks.map(({ trackingId }) => trackingId));
  for (const { trackingId } of marks) if (!files.has(trackingId)) miss('the MIS was not given marks that were acknowledged', trackingId);
  for (const file of files) if (!known.has(file)) book.fault('the MIS was given marks twice', file);
  if (known.size < marks.length) book.fault('two marks have one TrackingId');
}

async function judgeRegister(book: AskBook, caller: SchoolCaller, { marks }: Acknowledged, miss: Miss): Promise<void> {
  for (const date of new Set(marks.map((one) => one.date))) {
    const { text } = await patient(() => caller.s(kinds.schoolData, `AttendanceForDate?date=${date}&pageSize=1000`));
    const { AttendanceForDate: rows = [] } = JSON.parse(text) as { AttendanceForDate?: { StudentId: string; Session: string }[] };
    const own = marks.filter((one) => one.date === date);
    for (const { studentId, session, trackingId } of own) {
      const shown = rows.filter((row) => row.StudentId === studentId && row.Session === session).length;
      if (shown === 0) miss('a mark was acknowledged and is not shown', trackingId);
      if (shown > 1) book.fault('a mark is shown twice', trackingId);
    }
    if (rows.length > own.length) book.fault('marks are shown that nobody entered', `${rows.length} of ${own.length} on ${date}`);
  }
}

async function judgePackages(book: AskBook, caller: SchoolCaller, { packages }: Acknowledged, last: SentPackage, miss: Miss): Promise<void> {
  for (const { importId } of packages) {
    const { text } = await patient(() => caller.job(kinds.uploadState, `/${importId}`));
    const { State } = JSON.parse(text) as { State: string };
    if (!['Done', 'Unchanged', 'Replaced'].includes(State)) miss('a package was acknowledged and not imported', `${importId}: ${State}`);
  }
  const { text } = await patient(() => caller.b(kinds.record, `/users/${numbered}`));
  const shown = numberIn((JSON.parse(text) as { user?: { givenName: string } }).user?.givenName ?? '');
  if (last.state !== 'Done' || shown !== last.number) book.fault('the last package is not what is shown', `${shown} of ${last.number}, ${last.state}`);
}

/** The database is there; what is refused once stands in the book. */
async function patient(ask: () => Promise<Answered>): Promise<Answered> {
  const first = await ask();
  return first.ok ? first : ask();
}
