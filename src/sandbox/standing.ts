// In charge of what the sandbox does at present to an application of the demo and its demo schools: found, and told in words.
import { mayBeForced } from '../collection/deletion-guard.ts';
import type { HeldImport } from '../collection/held.ts';
import { describeShrinkage } from '../collection/import-report.ts';
import { readDemo, type DemoStanding } from '../collection/steer-demo.ts';
import type { Sql } from '../db/connect.ts';
import { readFaults, type Fault, type FaultKind } from './faults.ts';

/** Whom it is done to: an application of the demo, and the demo schools that authorise it. */
export type Whom = Readonly<{ rp: string; estabs: readonly string[] }>;
export type Standing = Readonly<{ rp: string; faults: Readonly<Partial<Record<FaultKind, Fault>>>; schools: readonly DemoStanding[] }>;

export async function readStanding(sql: Sql, { rp, estabs }: Whom, now: number): Promise<Standing> {
  const schools: DemoStanding[] = [];
  for (const estab of estabs) schools.push(await readDemo(sql, estab, now));
  return { rp, faults: await readFaults(sql, rp), schools };
}

/** formatTime: as whoever reads it is used to. */
export function describeStanding({ faults: { events, tokens, answers }, schools }: Standing, formatTime: (at: Date) => string): Record<string, string> {
  const until = (end: Date | null) => (end ? `, until ${formatTime(end)}` : '');
  return {
    events: events ? `${events.mode}${events.mode === 'delayed' ? ` by ${events.seconds} s` : ''}${until(events.until)}` : 'as usual',
    tokens: tokens ? `live ${tokens.seconds} s${until(tokens.until)}` : 'as usual',
    answers: answers ? `${answers.mode}${answers.remaining === null ? '' : `, ${answers.remaining} more`}${until(answers.until)}` : 'as usual',
    ...Object.fromEntries(
      schools.map(({ estab, mode, modeUntil, clock, ahead, happenings, collecting, held }) => [
        `school ${estab}`,
        [
          `its MIS is ${mode}${until(modeUntil)}`,
          ahead === 0 ? 'its clock is right' : `its clock says ${formatTime(clock)}`,
          ...happenings.map(({ kind, of }) => `${kind} ${of}`),
          ...(collecting ? ['its roster is being collected'] : []),
          ...(held ? [`an import of ${formatTime(held.at)} waits for approval: ${describeHeld(estab, held)}`] : []),
        ].join('; '),
      ]),
    ),
  };
}

/** Returns why an import waits for approval and what to do about it. */
export function describeHeld(estab: string, { id, shrinkage }: Pick<HeldImport, 'id' | 'shrinkage'>): string {
  const force = shrinkage.every(mayBeForced) ? ', or repeat the last step with force (clock, by 0m)' : '';
  return (
    `${describeShrinkage(shrinkage)}; nothing of it was imported. Approve it (import approve --estab ${estab} --import ${id}, or the school's page in the ` +
    `console)${force}`
  );
}
