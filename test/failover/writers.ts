// In charge of what is written in a drill: packages, marks, registrations and questions that are answered by a call, again and again,
// and of what of it was acknowledged. A sender who is refused sends the same again, as it should.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { kinds, type AskBook } from './ask-book.ts';
import type { SchoolCaller } from './caller.ts';
import { listPlaces, packageOf, type Place } from './school.ts';
import type { Seen } from './seen.ts';

/** late: whoever waited for the outcome was sent away without it. */
export type WrittenMark = Place & { trackingId: string; called: boolean; late: boolean };
export type SentPackage = { number: number; importId: string; state: string };

/** What was acknowledged, at one school. */
export type Acknowledged = {
  marks: WrittenMark[];
  packages: SentPackage[];
  /** A later registration takes the place of the one before. */
  hooks: string[];
  /** Those who wait to be called. */
  requests: string[];
};

export type Writers = {
  acknowledged: Acknowledged;
  /** When the request had begun that was acknowledged last. */
  last: { begun: number };
  /** Sends one more package, and waits until it is imported. */
  sendPackage(): Promise<SentPackage>;
  /** The address of the first registration, of the second … */
  hookAt(at: number): string;
  over: Promise<unknown>;
};

const mark = 'I';
const [pauseMs, againMs] = [150, 200];
const [enteringAtOnce, requestsPerHook] = [3, 8];
/** More than there are in the longest gap. */
const mostAttempts = 150;
const longestImportMs = 120_000;
const ended = ['Done', 'Unchanged', 'Held', 'Refused', 'Replaced', 'Failed'];

export function startWriting(book: AskBook, caller: SchoolCaller, seen: Seen, origin: string, over: AbortSignal): Writers {
  const { estab } = caller.school;
  const acknowledged: Acknowledged = { marks: [], packages: [], hooks: [], requests: [] };
  const last = { begun: 0 };
  const places = listPlaces();
  let number = 0;
  const note = (begun: number) => (last.begun = Math.max(last.begun, begun));
  const again = async (step: () => Promise<unknown>) => {
    for (; !over.aborted; await pause(pauseMs)) await step();
  };

  /** The same request until it is taken: it may have been, although nobody could say so. */
  async function enter(called: boolean): Promise<void> {
    const next = places.next();
    if (next.done) {
      book.fault('there is nothing left to write', 'more days or pupils are needed for so many kills');
      return;
    }
    const place = next.value;
    const callback = called ? { callback: [{ Url: `${origin}/outcome/${estab}`, Method: 'POST' }] } : {};
    const init = {
      method: 'POST',
      headers: { 'idempotency-key': randomUUID() },
      body: JSON.stringify({ Marks: [{ StudentId: place.studentId, MarkType: 'S', Date: place.date, Session: place.session, Mark: mark }], ...callback }),
    };
    for (let attempts = 1; attempts <= mostAttempts; attempts += 1, await pause(againMs)) {
      const { ok, text, begun } = await caller.s(kinds.marks, `School/${estab}/Attendance`, init);
      if (!ok) continue;
      note(begun);
      const { TrackingId: trackingId, Status } = JSON.parse(text) as { TrackingId: string; Status: string };
      acknowledged.marks.push({ ...place, trackingId, called, late: !called && Status === 'Pending' });
      if (Status === 'Completed') await expectShown(place);
      else if (Status !== 'Pending') book.fault(`marks ended as ${Status}`, text.slice(0, 300));
      return;
    }
  }

  /** What is said to be written is to be read from then on. */
  async function expectShown({ studentId, date, session }: Place): Promise<void> {
    const { ok, text } = await caller.s(kinds.schoolData, `AttendanceForDate?date=${date}&sessionType=${session}&pageSize=1000`);
    if (!ok) return;
    const { AttendanceForDate: rows } = JSON.parse(text) as { AttendanceForDate: { StudentId: string }[] };
    if (!rows.some((row) => row.StudentId === studentId)) book.fault('a mark was said to be written and is not shown', `${studentId} ${date} ${session}`);
  }

  async function sendPackage(): Promise<SentPackage> {
    for (let attempts = 1; attempts <= mostAttempts; attempts += 1, await pause(againMs)) {
      const { ok, text, begun } = await caller.job(kinds.upload, '', { method: 'PUT', body: Uint8Array.from(await packageOf((number += 1))) });
      if (!ok) continue;
      note(begun);
      const sent = { number, importId: (JSON.parse(text) as { ImportId: string }).ImportId, state: 'Waiting' };
      acknowledged.packages.push(sent);
      await follow(sent);
      return sent;
    }
    throw new Error(`no package of ${estab} was taken`);
  }

  async function follow(sent: SentPackage): Promise<void> {
    for (const longest = performance.now() + longestImportMs; performance.now() < longest; await pause(pauseMs)) {
      const before = seen.before();
      const { ok, text } = await caller.job(kinds.uploadState, `/${sent.importId}`);
      if (!ok) continue;
      const { State, Report } = JSON.parse(text) as { State: string; Report: { Version?: number } | null };
      sent.state = State;
      if (!ended.includes(State)) continue;
      if (State === 'Done') {
        seen.note('version', Number(Report?.Version), before, 'the report of an import');
        seen.note('number', sent.number, before, 'the report of an import');
      }
      return;
    }
  }

  const hookAt = (at: number) => `${origin}/hook/${estab}/${at}`;

  async function register(): Promise<void> {
    const url = hookAt(acknowledged.hooks.length);
    const { ok, begun } = await caller.s(kinds.register, 'Webhook', { method: 'POST', body: JSON.stringify({ url, DatabaseName: 'SchoolData' }) });
    if (!ok) return;
    note(begun);
    acknowledged.hooks.push(url);
  }

  async function askForCall(): Promise<void> {
    const { ok, text, begun } = await caller.s(kinds.available, `Students?callbackUrl=${encodeURIComponent(`${origin}/available/${estab}`)}`);
    if (!ok) return;
    note(begun);
    acknowledged.requests.push((JSON.parse(text) as { RequestId: string }).RequestId);
  }

  async function write(): Promise<void> {
    await sendPackage();
    const entering = Array.from({ length: enteringAtOnce }, () => again(() => enter(false)));
    const enteringCalled = again(async () => {
      await enter(true);
      await pause(againMs);
    });
    const asking = again(async () => {
      await askForCall();
      if (acknowledged.hooks.length * requestsPerHook < acknowledged.requests.length) await register();
      await pause(againMs);
    });
    await Promise.all([...entering, enteringCalled, asking, again(sendPackage)]);
  }
  return { acknowledged, last, sendPackage, hookAt, over: write().catch((error: Error) => book.fault(`nothing more is written at ${estab}`, error.message)) };
}
