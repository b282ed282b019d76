// In charge of pausing a school as a whole: every application that may read its data is paused, each as it would be alone,
// with its receipt and its entry in the record. Its data goes on being collected, so that all is there when it is resumed.
import { requireEstablishment } from '../access/establishments.ts';
import type { Fragment, Sql } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { change, type Deciding } from './approve.ts';

/** Which applications it was about, and how many calls that were waiting were stopped. */
export type PausedSchool = { estab: string; applications: string[]; stopped: number };

export async function pauseSchool(deciding: Deciding, estab: string): Promise<PausedSchool> {
  await requireEstablishment(deciding.db, estab);
  const live = await deciding.db<{ rp: string }[]>`select rp from authorisation where estab = ${estab} and state = 'Approved' order by rp`;
  if (live.length === 0) throw new SchoolbellError('conflict', `no application may read data of ${estab} now: there is nothing to pause`);
  return changeAll(deciding, 'pause', estab, live);
}

/** Who paused authorisation a last, if it is paused. */
export const pausedBy = (sql: Sql): Fragment => sql`
  case when a.state = 'Paused' then (select d.actor from authorisation_event d where d.estab = a.estab and d.rp = a.rp and d.state = 'Paused'
    order by d.number desc limit 1) end`;

/** What the school itself has paused is its own decision and stays paused. */
export async function resumeSchool(deciding: Deciding, estab: string): Promise<PausedSchool> {
  await requireEstablishment(deciding.db, estab);
  const paused = await deciding.db<{ rp: string; actor: string | null }[]>`
    select a.rp, ${pausedBy(deciding.db)} as actor from authorisation a where a.estab = ${estab} and a.state = 'Paused' order by a.rp`;
  const ours = paused.filter(({ actor }) => actor !== 'school');
  if (paused.length > 0 && ours.length === 0)
    throw new SchoolbellError('conflict', 'the school has paused its applications itself; it resumes them, or the operator does, one by one');
  if (ours.length === 0) throw new SchoolbellError('conflict', `no application of ${estab} is paused: there is nothing to resume`);
  return changeAll(deciding, 'resume', estab, ours);
}

/** One by one: each is a decision of its own, and one that is repeated does what is left. */
async function changeAll(deciding: Deciding, what: 'pause' | 'resume', estab: string, those: readonly { rp: string }[]): Promise<PausedSchool> {
  let stopped = 0;
  for (const { rp } of those) stopped += (await change(deciding, what, { estab, rp, actor: 'operator' })).stopped;
  return { estab, applications: those.map(({ rp }) => rp), stopped };
}
