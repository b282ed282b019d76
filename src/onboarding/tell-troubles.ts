// In charge of telling the school and the operator when a collection is held, when the package of a job was refused, when
// nothing was collected for a day, and when all is well again: each once, whatever is tried in between. What was told is
// kept with the state that it is about, and changes in the transaction that writes the mails.
import type { DatabaseName } from '../collection/connector.ts';
import type { ImportReport } from '../collection/import-report.ts';
import type { Config } from '../config.ts';
import { readMoment } from '../db/clock.ts';
import type { Db, Sql, Tx } from '../db/connect.ts';
import type { Letter } from '../mail/letter.ts';
import { enqueueMail } from '../mail/mail.ts';
import { goThrough } from '../roster/go-through.ts';
import { renderFailing, renderHeld, renderRefused, renderWell, type About } from './trouble-mails.ts';

/** operator: where mails to whoever runs the service go, if they go anywhere. */
export type Telling = { publicUrl: string; operator: string | undefined };

type Trouble = 'held' | 'refused' | 'failing';
type School = { name: string; email: string; timeZone: string; connected: boolean; confirmed: boolean };
type Database = {
  name: DatabaseName;
  status: string;
  message: string | null;
  refreshing: boolean;
  updatedAt: Date | null;
  failingSince: Date | null;
  told: Trouble | null;
  toldAt: Date | null;
  /** Nothing but failures for a day. */
  overdue: boolean;
};
/** The last import of all. */
type Last = { outcome: string; report: ImportReport; at: Date; byJob: boolean | null };
type State = { school: School; databases: Database[]; last: Last | undefined };
type Change = { database: Database; now: Trouble | 'well' };

const patienceHours = 24;

/** There is one address that every deployment with mail has: that which mails come from, whose answers somebody reads. */
export function tellingOf({ publicUrl, mail }: Pick<Config, 'publicUrl' | 'mail'>): Telling {
  return { publicUrl, operator: mail && (/<([^<>]+)>\s*$/.exec(mail.from)?.[1] ?? mail.from).trim() };
}

/** To be called when a status changes, and again and again besides; gives how many schools were told something. One that fails keeps none of the others. */
export async function tellTroubles(db: Db, telling: Telling, which: { estab?: string; at?: Date } = {}): Promise<number> {
  let told = 0;
  const tell = async (estab: string) => {
    if (await tellSchool(db, telling, estab, which.at)) told += 1;
  };
  if (which.estab === undefined) await goThrough(await findTroubled(db), 'could not be told how its data stands', tell);
  else await tell(which.estab);
  return told;
}

async function findTroubled(db: Db): Promise<{ estab: string }[]> {
  return db<{ estab: string }[]>`
    select estab from component_database where told is not null or status in ('Paused', 'Error', 'Timeout')
    union select estab from import_end where outcome = 'refused' and finished_at > now() - make_interval(hours => ${patienceHours}) order by estab`;
}

/** Looked at without a lock first: nearly always there is nothing to tell. */
async function tellSchool(db: Db, telling: Telling, estab: string, at: Date | undefined): Promise<boolean> {
  const seen = await readState(db, estab, at);
  if (!seen || findChanges(seen).length === 0) return false;
  return db.begin(async (tx) => {
    await tx`select from component_database where estab = ${estab} order by name for update`;
    const state = await readState(tx, estab, at);
    const changes = state ? findChanges(state) : [];
    if (!state || changes.length === 0) return false;
    const toldAt = await readMoment(tx);
    for (const { database, now } of changes)
      await tx`
        update component_database set told = ${now === 'well' ? null : now}, told_at = ${now === 'well' ? null : toldAt}
        where estab = ${estab} and name = ${database.name}`;
    await write(tx, telling, estab, state, changes);
    return true;
  });
}

async function readState(sql: Sql, estab: string, at: Date | undefined): Promise<State | undefined> {
  const [school] = await sql<School[]>`
    select name, email, time_zone as "timeZone", connector is not null as connected, confirmed_at is not null as confirmed
    from establishment where estab = ${estab}`;
  if (!school) return undefined;
  const overdue = sql`failing_since <= ${at ? sql`${at}::timestamptz` : sql`now()`} - make_interval(hours => ${patienceHours})`;
  const databases = await sql<Database[]>`
    select name, status, message, refreshing_since is not null as refreshing, updated_at as "updatedAt", failing_since as "failingSince", told,
      told_at as "toldAt", status in ('Error', 'Timeout') and (updated_at is null or updated_at < failing_since) and coalesce(${overdue}, false) as overdue
    from component_database where estab = ${estab} order by name desc`;
  const [last] = await sql<Last[]>`
    select i.outcome, i.report, i.finished_at as at, r.by_job as "byJob"
    from import_run i left join upload_receipt r on r.estab = ${estab} and r.run = i.id where i.estab = ${estab} order by i.finished_at desc limit 1`;
  return { school, databases, last };
}

/** What has to be told now, one thing of each database at most. While something is collected nobody knows how it will end. */
function findChanges({ school, databases, last }: State): Change[] {
  return databases.flatMap((database): Change[] => {
    const { name, status, refreshing, told, toldAt, updatedAt, overdue } = database;
    if (refreshing) return [];
    if (status === 'Paused') return told === 'held' ? [] : [{ database, now: 'held' }];
    const open = told === null || told === 'held';
    const refused = name === 'SchoolData' && last?.outcome === 'refused' && last.byJob === true && !last.report.overtaken;
    if (open && refused) return [{ database, now: 'refused' }];
    if (open && overdue && school.connected) return [{ database, now: 'failing' }];
    const collected = toldAt !== null && updatedAt !== null && updatedAt > toldAt;
    return status === 'OK' && told !== null && (collected || told === 'held') ? [{ database, now: 'well' }] : [];
  });
}

async function write(tx: Tx, { publicUrl, operator }: Telling, estab: string, state: State, changes: readonly Change[]): Promise<void> {
  const { school } = state;
  const about: About = { estab, school: school.name, timeZone: school.timeZone, publicUrl };
  const schoolTold = school.confirmed ? school.email : undefined;
  const receivers: (readonly [to: string, About])[] = [
    ...(schoolTold === undefined ? [] : [[schoolTold, about] as const]),
    ...(operator === undefined || operator === schoolTold ? [] : [[operator, { ...about, operator: { schoolTold } }] as const]),
  ];
  for (const [to, whom] of receivers)
    for (const letter of renderLetters(whom, state, changes)) await enqueueMail(tx, { estab, rp: null, to, ...letter });
}

/** Databases that fail together are one trouble: it begins with the first and is over with the last of them. */
function renderLetters(about: About, { databases, last }: State, changes: readonly Change[]): Letter[] {
  const of = (trouble: Change['now']) => changes.filter(({ now }) => now === trouble).map(({ database }) => database);
  const [held, refused, failing, well] = [of('held'), of('refused'), of('failing'), of('well')];
  const unchanged = databases.filter((database) => !changes.some((change) => change.database === database));
  const still = changes.some(({ now }) => now !== 'well') || unchanged.some(({ told }) => told !== null);
  return [
    ...held.map((database) => renderHeld(about, database)),
    ...(last ? refused.map((database) => renderRefused(about, database, last.report, last.at)) : []),
    ...(failing.length > 0 && !unchanged.some(({ told }) => told === 'failing') ? [renderFailing(about, failing)] : []),
    ...(well.length > 0 && !still ? [renderWell(about, well, well.some(({ updatedAt, toldAt }) => updatedAt && toldAt && updatedAt > toldAt))] : []),
  ];
}
