// In charge of using the sandbox: whom it may be used on, doing what a control says, and what is in force then.
import { holdDemoSchools, listDemoSchools, readDemo, type DemoStanding } from '../collection/steer-demo.ts';
import type { Config } from '../config.ts';
import type { Db, Sql } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import type { Control, Whom } from './controls.ts';
import { readFaults, type Fault, type FaultKind } from './faults.ts';
import type { Values } from './field.ts';

export type Standing = Readonly<{ rp: string; faults: Readonly<Partial<Record<FaultKind, Fault>>>; schools: readonly DemoStanding[] }>;

export const noSandbox = 'there is no sandbox: it is there with DEMO=on alone';
export const notDemo = 'is no application of the demo; the sandbox does nothing to others';

export function requireSandbox({ demo }: Pick<Config, 'demo'>): void {
  if (!demo) throw new SchoolbellError('conflict', noSandbox);
}

export async function isDemoApplication(sql: Sql, rp: string): Promise<boolean> {
  const [row] = await sql<{ demo: boolean }[]>`select demo from application where rp = ${rp}`;
  return row?.demo === true;
}

/** An application that is none of the demo is refused, whoever asks. */
export async function requireWhom(sql: Sql, rp: string): Promise<Whom> {
  if (!(await isDemoApplication(sql, rp))) throw new SchoolbellError('forbidden', `${rp} ${notDemo}`);
  return { rp, estabs: await listDemoSchools(sql, rp) };
}

export async function useControl(db: Db, control: Control, whom: Whom, values: Values, now: number): Promise<void> {
  await db.begin(async (tx) => {
    const estabs = await holdDemoSchools(tx, whom.estabs);
    if (control.of === 'schools' && estabs.length === 0)
      throw new SchoolbellError('conflict', `no demo school authorises ${whom.rp} at present, so that there is none to steer`);
    await control.apply(tx, { ...whom, estabs }, values, now);
  });
}

/** In words, for people. */
export function describeStanding({ rp, faults: { events, tokens, answers }, schools }: Standing): Record<string, string> {
  const until = (end: Date | null) => (end ? `, until ${end.toISOString()}` : '');
  return {
    application: rp,
    events: events ? `${events.mode}${events.mode === 'delayed' ? ` by ${events.seconds} s` : ''}${until(events.until)}` : 'as usual',
    tokens: tokens ? `live ${tokens.seconds} s${until(tokens.until)}` : 'as usual',
    answers: answers ? `${answers.mode}${answers.remaining === null ? '' : `, ${answers.remaining} more`}${until(answers.until)}` : 'as usual',
    ...Object.fromEntries(
      schools.map(({ estab, mode, modeUntil, clock, ahead, happenings }) => [
        `school ${estab}`,
        [
          `its MIS is ${mode}${until(modeUntil)}`,
          ahead === 0 ? 'its clock is right' : `its clock says ${clock.toISOString()}`,
          ...happenings.map(({ kind, of }) => `${kind} ${of}`),
        ].join('; '),
      ]),
    ),
  };
}

export async function readStanding(sql: Sql, { rp, estabs }: Whom, now: number): Promise<Standing> {
  const schools: DemoStanding[] = [];
  for (const estab of estabs) schools.push(await readDemo(sql, estab, now));
  return { rp, faults: await readFaults(sql, rp), schools };
}
