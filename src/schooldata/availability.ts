// In charge of those who wait for data: a wait is a row with its deadline, and the call that ends it is put into the
// outbox in the transaction that ends it, so that there is exactly one whatever dies in between. It is looked at when
// a status changes, and again and again besides.
import type { SchoolCaller } from '../access/school-caller.ts';
import { readDatabases, requestCollection, type ComponentDatabase, type DatabaseStatus } from '../collection/component-databases.ts';
import type { DatabaseName } from '../collection/connector.ts';
import type { Db, Sql, Tx } from '../db/connect.ts';
import { deleteInBatches } from '../db/delete-in-batches.ts';
import { SchoolbellError } from '../errors.ts';
import { enqueueOneOff } from '../notifications/one-off.ts';
import type { Endpoint } from './catalogue.ts';
import { renderStatus } from './db-status.ts';
import { showOpened, readOpenedDatabases } from './opened-databases.ts';

export const longestWaitMinutes = 10;
/** Of one application, over all schools. */
export const mostOpenWaits = 1000;

type Wait = { estab: string; id: string; rp: string; endpoint: string; databases: DatabaseName[]; callbackUrl: string; overdue: boolean };

/** Statuses that do not become OK by waiting. */
const hopeless: readonly DatabaseStatus[] = ['Error', 'Timeout', 'Paused', 'NotInstalled'];
/** What a reader has refreshed behind its back. */
const grownOld: readonly DatabaseStatus[] = ['Expired', 'NoData'];
/** Who waits has also tried again what failed; otherwise that has its own times. */
const worthAnother: readonly DatabaseStatus[] = [...grownOld, 'Error', 'Timeout'];
const waitsAtOnce = 200;
const longestCheckSeconds = 15;
const advisoryLock = 5_219_032;

/** Notes the wait and has everything refreshed that is not fresh. Gives the object that the caller is answered with. */
export async function beginWait(
  db: Db,
  who: SchoolCaller,
  endpoint: Pick<Endpoint, 'name' | 'databases'>,
  callbackUrl: string,
  problem?: SchoolbellError,
): Promise<Record<string, unknown>> {
  return db.begin(async (tx) => {
    await requireRoom(tx, who.rp);
    if (!problem) await refreshStale(tx, who.estab, endpoint.databases, worthAnother);
    const databases = await readOpenedDatabases(tx, who, endpoint.databases);
    const [wait] = await tx<{ id: string }[]>`
      insert into availability_wait (estab, rp, endpoint, databases, callback_url, deadline_at, next_check_at)
      values (${who.estab}, ${who.rp}, ${endpoint.name}, ${[...endpoint.databases]}, ${callbackUrl}, now() + make_interval(mins => ${longestWaitMinutes}),
        now() + interval '1 second') returning id`;
    const report = {
      estab: who.estab,
      endpoint: endpoint.name,
      requestId: wait?.id ?? null,
      databases,
      problem: problem && { type: problem.code, message: problem.message },
    };
    const open: Wait = {
      estab: who.estab,
      id: wait?.id ?? '',
      rp: who.rp,
      endpoint: endpoint.name,
      databases: [...endpoint.databases],
      callbackUrl,
      overdue: false,
    };
    if (problem) await end(tx, open, renderStatus(report));
    else if (isDecided(open, databases)) await end(tx, open, renderOutcome(open, databases));
    return renderStatus(report);
  });
}

/** Counted in turn, or requests at the same moment would all find room. */
async function requireRoom(tx: Tx, rp: string): Promise<void> {
  await tx`select pg_advisory_xact_lock(${advisoryLock}, hashtext(${rp}))`;
  const [open] = await tx<{ count: number }[]>`select count(*)::int as count from availability_wait where rp = ${rp} and done_at is null`;
  if ((open?.count ?? 0) < mostOpenWaits) return;
  throw new SchoolbellError(
    'too_many_requests',
    `This application has ${open?.count} requests with a callbackUrl open, which is as many as it may. Wait for their callbacks,` +
      ` or request the data without callbackUrl.`,
    { headers: { 'retry-after': '60' } },
  );
}

/** Has what is not fresh collected again. */
export async function refreshStale(sql: Sql, estab: string, names: readonly DatabaseName[], statuses: readonly DatabaseStatus[] = grownOld): Promise<void> {
  const databases = await readDatabases(sql, estab, names);
  // Each is locked: in the order in which whoever needs several of them locks them.
  for (const { name, status } of databases.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
    if (statuses.includes(status)) await requestCollection(sql, estab, name, { whileIn: statuses });
}

/** Ends every wait that can be decided now; `estab`: only those of one school, whenever they were due to be looked at. */
export async function sweepWaits(db: Db, which: { estab?: string; at?: Date } = {}): Promise<number> {
  let ended = 0;
  for (let full = true; full; ) {
    const swept = await sweepSome(db, which);
    ended += swept.ended;
    full = swept.full && which.estab === undefined;
  }
  return ended;
}

async function sweepSome(db: Db, { estab, at }: { estab?: string; at?: Date }): Promise<{ ended: number; full: boolean }> {
  const now = at ? db`${at}::timestamptz` : db`now()`;
  // A check that is further away than the interval between checks was planned before the clock was set back.
  const isDue = db`(next_check_at <= ${now} or next_check_at > ${now} + make_interval(secs => ${longestCheckSeconds}))`;
  return db.begin(async (tx) => {
    const waits = await tx<(Wait & { nextAt: string; deadlineAt: string })[]>`
      select estab, id, rp, endpoint, databases, callback_url as "callbackUrl", deadline_at <= ${now} as overdue,
        least(deadline_at, ${now} + make_interval(mins => ${longestWaitMinutes}))::text as "deadlineAt",
        least(deadline_at, ${now} + make_interval(secs => least(${longestCheckSeconds}, 2 ^ checks)))::text as "nextAt" from availability_wait
      where done_at is null and ${estab === undefined ? isDue : tx`estab = ${estab}`} order by next_check_at limit ${waitsAtOnce}
        for update skip locked`;
    let ended = 0;
    // In the order of their lanes, so that two sweeps do not wait for one another.
    for (const wait of waits.toSorted((a, b) => (`${a.rp} ${a.callbackUrl}` < `${b.rp} ${b.callbackUrl}` ? -1 : 1))) {
      const databases = await readDatabases(tx, wait.estab, wait.databases);
      if (isDecided(wait, databases)) {
        const [granted] = await tx<{ scopes: string[] }[]>`select scopes from authorisation where estab = ${wait.estab} and rp = ${wait.rp}`;
        const opened = await showOpened(tx, { estab: wait.estab, scopes: granted?.scopes ?? [] }, databases);
        await end(tx, wait, renderOutcome(wait, opened));
        ended += 1;
      } else await refreshStale(tx, wait.estab, wait.databases);
    }
    // After 1, 2, 4, 8, then every 15 seconds, and at the deadline.
    await tx`
      update availability_wait w set checks = w.checks + 1, next_check_at = next.at, deadline_at = next.deadline
      from unnest(${waits.map((wait) => wait.estab)}::text[], ${waits.map((wait) => wait.id)}::uuid[], ${waits.map((wait) => wait.nextAt)}::timestamptz[],
        ${waits.map((wait) => wait.deadlineAt)}::timestamptz[]) as next (estab, id, at, deadline)
      where w.done_at is null and w.estab = next.estab and w.id = next.id`;
    return { ended, full: waits.length === waitsAtOnce };
  });
}

const isReady = (databases: readonly ComponentDatabase[]) => databases.every(({ status }) => status === 'OK');
const isHopeless = (databases: readonly ComponentDatabase[]) => databases.some(({ status }) => hopeless.includes(status));

function isDecided({ overdue }: Wait, databases: readonly ComponentDatabase[]): boolean {
  return isReady(databases) || isHopeless(databases) || overdue;
}

function renderOutcome({ estab, endpoint, id }: Wait, databases: readonly ComponentDatabase[]): Record<string, unknown> {
  return renderStatus({ estab, endpoint, requestId: id, databases, timedOut: !isReady(databases) && !isHopeless(databases) });
}

async function end(tx: Tx, wait: Wait, body: Record<string, unknown>): Promise<void> {
  const ended = await tx`update availability_wait set done_at = now() where estab = ${wait.estab} and id = ${wait.id} and done_at is null returning id`;
  if (ended.length > 0) await enqueueOneOff(tx, { estab: wait.estab, rp: wait.rp, event: 'availability', url: wait.callbackUrl, body });
}

/** Waits that ended long ago say nothing any more. */
export async function forgetWaits(db: Db, days: number): Promise<void> {
  await deleteInBatches(db, 'availability_wait', db`done_at < now() - make_interval(days => ${days})`);
}
