// In charge of attendance writeback for tests: a service with a worker, schools with an MIS and an application that may
// enter marks, a receiver for outcomes, and ways to pass time.
import assert from 'node:assert/strict';
import type { DemoMode } from '../src/collection/connectors/demo/demo-connector.ts';
import type { LogStream } from '../src/http/log-lines.ts';
import { csvPackage } from './csv-package.ts';
import { until } from './until.ts';
import { useService, type Client } from './service.ts';

/** A school day, and the afternoon of it. */
export const date = '2026-10-14';
export const now = '2026-10-14T15:00:00Z';

export type Given = Record<string, unknown>;
export type OutcomeMark = {
  Index: number;
  StudentId: string;
  Date: string;
  Session: string;
  Mark: string | null;
  PreviousMark: string | null;
  Result: string;
  Code: string | null;
  Message: string | null;
};
export type Answer = {
  status: number;
  TrackingId: string; Estab: string; Status: string; SubmittedAt: string; CompletedAt: string | null; Attempts: number;
  Total: number; Written: number; Unchanged: number; Failed: number; Valid: number; Marks: OutcomeMark[];
  Errors: { Index: number; Field: string; Code: string }[];
  Message: string | null; ExceptionType: string | null; ExceptionMessage: string | null;
};
export type Register = { Id: string; StudentId: string; Session: string; Mark: string; MinsLate: number | null; Notes: string | null; LastUpdated: string };
export type Asking = { query?: string; headers?: Record<string, string>; callback?: unknown };
export type WritingSchool = Awaited<ReturnType<Awaited<ReturnType<typeof useWriteback>>['addSchool']>>;

export const student = (at: number) => `s${String(at).padStart(4, '0')}`;
export const mark = (at: number, Mark = 'I', more: Given = {}): Given => ({ StudentId: student(at), MarkType: 'S', Date: date, Session: 'AM', Mark, ...more });

export async function useWriteback(
  { work = true, env = {}, ...parts }: { work?: boolean; env?: Record<string, string>; lookEveryMs?: number; logTo?: LogStream } = {},
) {
  const service = await useService({ OUTBOUND_ALLOW: '127.0.0.0/8', ...env }, { now: () => Date.parse(now), ...parts });
  const { db } = service;
  if (work) await service.work();
  let schools = 0;

  /** A few pupils, collected once; afterwards the connector is the one given. The demo MIS is not asked for its own school. */
  async function addSchool({
    students = 5,
    connector = 'demo',
    folder,
  }: { students?: number; connector?: 'demo' | 'csv' | 'oneroster' | null; folder?: string } = {}) {
    const estab = `W${(schools += 1)}`;
    await service.addSchool(
      estab,
      csvPackage({
        orgs: [{ sourcedId: 'o1', name: 'School', type: 'school' }],
        academicSessions: [{ sourcedId: 't', title: 'Autumn', type: 'term', startDate: '2026-09-01', endDate: '2026-12-19', schoolYear: '2027' }],
        users: Array.from({ length: students }, (_, at) => ({
          sourcedId: student(at),
          enabledUser: 'true',
          orgSourcedIds: 'o1',
          role: 'student',
          username: student(at),
          givenName: 'Given',
          familyName: 'Family',
        })),
      }),
    );
    await db`update establishment set connector = ${connector} where estab = ${estab}`;
    await db`insert into connector_setting (estab, settings) values (${estab}, ${db.json(folder === undefined ? {} : { folder })})
      on conflict (estab) do update set settings = excluded.settings`;
    return open(estab, await service.addClient(`app${schools}`, [estab]));
  }

  function open(estab: string, client: Client) {
    const ask = async (path: string, init?: RequestInit): Promise<Answer> => {
      const response = await client.s(estab, path, init);
      return { status: response.status, ...((await response.json()) as Omit<Answer, 'status'>) };
    };
    const post = (marks: unknown, { query = '', headers = {}, callback }: Asking = {}) =>
      ask(`School/${estab}/Attendance${query}`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ Marks: marks, ...(callback === undefined ? {} : { callback }) }),
      });
    const outcome = async (trackingId: string) => {
      const found = await ask(`Writeback/${trackingId}`);
      assert.equal(found.status, 200, String(found.ExceptionMessage));
      if (found.Status !== 'Pending') assert.equal(found.Total, found.Written + found.Unchanged + found.Failed, 'the numbers add up');
      return found;
    };
    const register = async (query = '') =>
      ((await (await client.s(estab, `AttendanceForDate?date=${date}${query}`)).json()) as { AttendanceForDate: Register[] }).AttendanceForDate;
    /** Writebacks and the calls about them, in the outbox; dueIn in seconds from the last attempt. */
    const workOf = async (trackingId?: string) => [
      ...(await db<{ id: string; kind: string; state: string; attempts: number; dueIn: number | null; trackingId: string | null; url: string | null }[]>`
        select id, kind, state, attempts, payload ->> 'trackingId' as "trackingId", payload ->> 'url' as url,
          extract(epoch from due_at - (select max(at) from outbox_attempt a where a.estab = o.estab and a.id = o.id))::float8 as "dueIn"
        from outbox o
        where estab = ${estab} and kind in ('writeback', 'call') ${trackingId ? db`and payload ->> 'trackingId' = ${trackingId}` : db``} order by seq`),
    ];
    /** What waits to be tried again is due now. */
    const hurry = async () => {
      await db`update outbox set due_at = now() where estab = ${estab} and state = 'waiting'`;
      await db`update lane set next_at = now() where key in (select lane from outbox where estab = ${estab} and state = 'waiting')`;
      await db`select pg_notify('schoolbell_outbox', '')`;
    };
    return {
      estab, client, ask, post, outcome, register, hurry,
      /** The outcome, when there is one. */
      async ended(trackingId: string) {
        await until(`${trackingId} has ended`, async () => (await outcome(trackingId)).Status !== 'Pending', () => workOf(trackingId));
        return outcome(trackingId);
      },
      set: (mode: DemoMode) => db`update connector_setting set settings = ${db.json({ mode })} where estab = ${estab}`,
      /** Marks as the register shows them, by student and session. */
      shown: async () => Object.fromEntries((await register()).map((row) => [`${row.StudentId} ${row.Session}`, row.Mark])),
      history: async () => [
        ...(await db`select student_id as id, session, mark, previous_mark as previous, rp, tracking_id as "trackingId", reason from attendance_history
          where estab = ${estab} order by version, student_id, session`),
      ],
      /** What the MIS itself holds. */
      kept: async () =>
        Object.fromEntries(
          (
            await db<
              { id: string; session: string; mark: string | null }[]
            >`select student_id as id, session, mark from demo_mark where estab = ${estab} order by student_id, session`
          ).map((row) => [`${row.id} ${row.session}`, row.mark]),
        ),
      work: () => workOf(),
    };
  }

  return { service, db, addSchool, open };
}
