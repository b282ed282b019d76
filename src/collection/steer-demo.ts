// In charge of steering the demo's MIS: how it behaves, what its clock says, and what happens in its school. What is changed is collected at
// once, so that everything follows which follows in life.
import type { Sql, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { readDatabases, requestCollection } from './component-databases.ts';
import { modeOf, setDemoMode, type DemoSettings } from './connector-settings.ts';
import { databaseNames, type DatabaseName } from './connector.ts';
import type { DemoMode } from './connectors/demo/demo-connector.ts';
import { mostHappenings, nameWhom, planHappening, type Happening, type HappeningKind } from './connectors/demo/happenings.ts';
import { demoSchool } from './connectors/demo/school.ts';
import { findHeld, type HeldImport } from './held.ts';
import { holdSource } from './lock-source.ts';

/**
 * clock: what the school's clock says; ahead: by how many seconds it is wrong. happenings: each with the sourcedId of whom it is about.
 * collecting: its roster is yet to be what was asked for. held: an import that waits until somebody approves it.
 */
export type DemoStanding = Readonly<{
  estab: string;
  mode: DemoMode;
  modeUntil: Date | null;
  clock: Date;
  ahead: number;
  happenings: readonly Happening[];
  collecting: boolean;
  held: HeldImport | undefined;
}>;

/** Demo schools that authorise an application. */
export async function listDemoSchools(sql: Sql, rp: string): Promise<string[]> {
  const rows = await sql<{ estab: string }[]>`
    select a.estab from authorisation a join establishment e on e.estab = a.estab where a.rp = ${rp} and a.state = 'Approved' and e.connector = 'demo'
    order by a.estab`;
  return rows.map(({ estab }) => estab);
}

export async function isDemoSchool(sql: Sql, estab: string): Promise<boolean> {
  return (await sql`select from establishment where estab = ${estab} and connector = 'demo'`).length > 0;
}

/** Those that still are demo schools, and stay so until the transaction ends: what is done to one must not meet the source that it was given since. */
export async function holdDemoSchools(tx: Tx, estabs: readonly string[]): Promise<string[]> {
  const held: string[] = [];
  for (const estab of estabs) {
    await holdSource(tx, estab);
    if (await isDemoSchool(tx, estab)) held.push(estab);
  }
  return held;
}

export async function readDemo(sql: Sql, estab: string, now: number): Promise<DemoStanding> {
  const settings = await readSettings(sql, estab);
  const mode = modeOf(settings, now);
  const offsetMs = settings.offsetMs ?? 0;
  const [roster] = await readDatabases(sql, estab, ['SchoolData']);
  return {
    estab,
    mode,
    modeUntil: mode === 'normal' || !settings.modeUntil ? null : new Date(settings.modeUntil),
    clock: new Date(now + offsetMs),
    ahead: Math.round(offsetMs / 1000),
    happenings: (settings.happenings ?? []).map((one) => ({ ...one, of: nameWhom(one) })),
    collecting: roster?.refreshing ?? false,
    held: await findHeld(sql, estab),
  };
}

async function readSettings(sql: Sql, estab: string): Promise<DemoSettings> {
  const [row] = await sql<{ settings: DemoSettings }[]>`select settings from connector_setting where estab = ${estab}`;
  return row?.settings ?? {};
}

export async function behave(tx: Tx, estab: string, mode: DemoMode, until: Date | null): Promise<void> {
  await setDemoMode(tx, mode, estab, until);
  await collectNow(tx, estab);
}

/** force: what the new day does to the roster is let through, however much of it goes. */
export async function setDemoClock(tx: Tx, estab: string, offsetMs: number, { force }: { force: boolean }): Promise<void> {
  await keep(tx, estab, { offsetMs });
  await collectNow(tx, estab, { force });
}

/** One at a time in a school, so that each is about somebody else. */
export async function happen(tx: Tx, estab: string, kind: HappeningKind, now: number): Promise<Happening> {
  await tx`select from connector_setting where estab = ${estab} for update`;
  const { offsetMs = 0, happenings = [] } = await readSettings(tx, estab);
  const clock = new Date(now + offsetMs);
  if (happenings.length >= mostHappenings) throw new SchoolbellError('conflict', `${mostHappenings} things happened already; reset the sandbox first`);
  const planned = planHappening(demoSchool(clock, { happenings, rollsOver: offsetMs !== 0 }), kind, happenings, clock.toISOString());
  if (!planned) throw new SchoolbellError('conflict', `there is nobody left in the demo school for another ${kind}`);
  await keep(tx, estab, { happenings: [...happenings, planned] });
  // Registers follow by themselves within minutes.
  await collectNow(tx, estab, { only: ['SchoolData'] });
  return planned;
}

/** force: as the school was before, whoever goes with that. */
export async function resetDemo(tx: Tx, estab: string): Promise<void> {
  await tx`update connector_setting set settings = ${tx.json({ mode: 'normal' })} where estab = ${estab}`;
  await collectNow(tx, estab, { force: true });
}

async function keep(tx: Tx, estab: string, settings: DemoSettings): Promise<void> {
  await tx`update connector_setting set settings = settings || ${tx.json(settings)} where estab = ${estab}`;
}

/** One that is under way may have read the school as it was. */
async function collectNow(tx: Tx, estab: string, how: { force?: boolean; only?: readonly DatabaseName[] } = {}): Promise<void> {
  const { force = false, only = databaseNames } = how;
  for (const name of only)
    await requestCollection(tx, estab, name, { full: true, again: true, force, rosterFirst: name === 'Attendance' });
}
