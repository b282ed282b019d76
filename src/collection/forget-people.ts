// In charge of forgetting people who are purged, in what their school's collections left behind.
import { patternsOf, sourcedIdsOf, type ForgetPeople } from '../roster/leaver.ts';
import { lockMarks } from './attendance.ts';

/** Their marks, with every entry that was replaced. Whoever is merging marks of theirs finds them gone from the roster. */
export const forgetMarksOf: ForgetPeople = async (tx, estab, people) => {
  const ids = sourcedIdsOf(people);
  await lockMarks(tx, estab);
  await tx`delete from attendance_history where estab = ${estab} and student_id = any(${ids})`;
  const gone = await tx<{ mark: string | null }[]>`delete from attendance_mark where estab = ${estab} and student_id = any(${ids}) returning mark`;
  const shown = gone.filter(({ mark }) => mark !== null).length;
  if (shown > 0)
    await tx`update component_database set row_count = greatest(0, row_count - ${shown}::int) where estab = ${estab} and name = 'Attendance'`;
};

/** What others lost by a change of theirs. */
export const forgetTouchesOf: ForgetPeople = async (tx, estab, people) => {
  await tx`delete from roster_touch where estab = ${estab} and what <> 'classes' and sourced_id = any(${sourcedIdsOf(people)})`;
};

/** The report stays, without the values that name them. */
export const forgetReportsOf: ForgetPeople = async (tx, estab, people) => {
  const { text } = patternsOf(people);
  const names = people.flatMap(({ givenName, familyName, email }) => [givenName, familyName, email ?? '']);
  const named = tx`((one -> 'value')::text ~ ${text} or one ->> 'value' = any(${names}) or one ->> 'rule' ~ ${text})`;
  await tx`
    update import_run r set report = jsonb_set(r.report, '{problems}', (
      select jsonb_agg(case when ${named} then one || '{"value": null, "rule": "is about somebody who has left for good"}' else one end order by at)
      from jsonb_array_elements(r.report -> 'problems') with ordinality as problems (one, at)))
    where r.estab = ${estab} and exists (select from jsonb_array_elements(r.report -> 'problems') as problems (one) where ${named})`;
  await tx`update component_database set message = null where estab = ${estab} and message ~ ${text}`;
};
