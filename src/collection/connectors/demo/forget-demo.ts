// In charge of what the demo's MIS forgets: marks of registers that it no longer shows, and what it answered long ago.
import type { Db } from '../../../db/connect.ts';
import { deleteOfSchool } from '../../../db/delete-in-batches.ts';
import { sourcedIdsOf, type Forget } from '../../../roster/leaver.ts';
import { exampleDay } from './named-in-reference.ts';

export async function forgetDemo(db: Db, estab: string, days: number): Promise<void> {
  await deleteOfSchool(db, 'demo_mark', estab, db`date < current_date - ${days}::int and date <> ${exampleDay}`);
  await deleteOfSchool(db, 'demo_write', estab, db`written_at < now() - make_interval(days => ${days})`);
}

export const forgetDemoMarksOf: Forget = async (tx, estab, people) => {
  await tx`delete from demo_mark where estab = ${estab} and student_id = any(${sourcedIdsOf(people)})`;
};
