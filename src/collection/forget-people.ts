// In charge of forgetting people who are purged, in what their school's collections left behind.
import { readInBatches } from '../db/read-in-batches.ts';
import { sourcedIdsOf, type Forget } from '../roster/leaver.ts';
import { newSighting, seenAtAll, type NameFinder } from '../roster/name-finder.ts';
import { namingOneOf, searching, type Naming } from '../roster/search-names.ts';
import { lockMarks } from './attendance.ts';
import type { Fault, Problem } from './problem.ts';

/** In what a school's collections say of themselves: a problem or a group of a report, by its place, one of all faults, or a database's message. */
type InReport = Naming & { run: string; list: 'problems' | 'faults'; place: number };
type InFault = Naming & { run: string; number: number };
type InMessage = Naming & { database: string; message: string };
type ReportRow = { id: string; problems: Problem[] | null; faults: Fault[] | null };
type FaultRow = Problem & { run: string; number: number };

const beforeAll = '00000000-0000-0000-0000-000000000000';

/**
 * Their marks, with every entry that was replaced. Whoever is merging marks of theirs finds them gone from the roster.
 * Locks what is locked before lanes and work: the marks, then how the databases stand.
 */
export const forgetMarksOf: Forget = async (tx, estab, people) => {
  const ids = sourcedIdsOf(people);
  await lockMarks(tx, estab);
  await tx`select from component_database where estab = ${estab} order by name for update`;
  await tx`delete from attendance_history where estab = ${estab} and student_id = any(${ids})`;
  const gone = await tx<{ mark: string | null }[]>`delete from attendance_mark where estab = ${estab} and student_id = any(${ids}) returning mark`;
  const shown = gone.filter(({ mark }) => mark !== null).length;
  if (shown > 0)
    await tx`update component_database set row_count = greatest(0, row_count - ${shown}::int) where estab = ${estab} and name = 'Attendance'`;
};

/** What others lost by a change of theirs. */
export const forgetTouchesOf: Forget = async (tx, estab, people) => {
  await tx`delete from roster_touch where estab = ${estab} and what <> 'classes' and sourced_id = any(${sourcedIdsOf(people)})`;
};

/** The report stays, without the values that name them. */
export const forgetReportsOf = searching<{ places: InReport[]; faults: InFault[]; messages: InMessage[] }>({
  async find(sql, estab, names, written) {
    const places: InReport[] = [];
    const reports = readInBatches<ReportRow>((after, limit) => sql<ReportRow[]>`
      select r.id, r.report -> 'problems' as problems, r.report -> 'faults' as faults from import_run r
      where r.estab = ${estab} and r.id > ${after?.id ?? beforeAll}::uuid and ${written('import_run', 'r')} order by r.id limit ${limit}`);
    for await (const { id, problems, faults } of reports) {
      for (const [place, problem] of (problems ?? []).entries()) places.push({ run: id, list: 'problems', place, people: findInProblem(names, problem) });
      for (const [place, fault] of (faults ?? []).entries())
        places.push({ run: id, list: 'faults', place, people: findInProblem(names, { ...fault, line: null, value: null }) });
    }
    const faults: InFault[] = [];
    const all = readInBatches<FaultRow>((after, limit) => sql<FaultRow[]>`
      select f.import as run, f.number, f.file, f.line, f.column_name as column, f.value, f.rule from import_fault f
      where f.estab = ${estab} and (f.import, f.number) > (${after?.run ?? beforeAll}::uuid, ${after?.number ?? 0}::int) and ${written('import_fault', 'f')}
      order by f.import, f.number limit ${limit}`);
    for await (const { run, number, ...problem } of all) {
      const people = findInProblem(names, problem);
      if (people.size > 0) faults.push({ run, number, people });
    }
    const databases = await sql<{ database: string; message: string }[]>`
      select d.name as database, d.message from component_database d
      where d.estab = ${estab} and d.message is not null and ${written('component_database', 'd')}`;
    const messages = databases.map((one) => {
      const seen = newSighting();
      names.inText(one.message, seen);
      return { ...one, people: seen.clear };
    });
    return { places: places.filter(({ people }) => people.size > 0), faults, messages };
  },
  async forget(tx, estab, people, found) {
    const named = namingOneOf(people, found.flatMap(({ places }) => places));
    for (const list of ['problems', 'faults'] as const) {
      const runs = [...Map.groupBy(named.filter((one) => one.list === list), ({ run }) => run)];
      const given = runs.map(([id, places]) => ({ id, places: places.map(({ place }) => place) }));
      if (given.length === 0) continue;
      await tx`
        update import_run r set report = jsonb_set(r.report, ${[list]}::text[], (
          select jsonb_agg(case when at - 1 = any(given.places) then one || ${tx.json(blanks[list])} else one end order by at)
          from jsonb_array_elements(r.report -> ${list}) with ordinality as listed (one, at)))
        from jsonb_to_recordset(${tx.json(given)}) as given (id uuid, places int[]) where r.estab = ${estab} and r.id = given.id`;
    }
    const kept = namingOneOf(people, found.flatMap(({ faults }) => faults));
    await tx`
      update import_fault f set value = null, rule = ${aboutGone}
      from unnest(${kept.map(({ run }) => run)}::uuid[], ${kept.map(({ number }) => number)}::int[]) as given (run, number)
      where f.estab = ${estab} and f.import = given.run and f.number = given.number`;
    for (const { database, message } of namingOneOf(people, found.flatMap(({ messages }) => messages)))
      await tx`update component_database set message = null where estab = ${estab} and name = ${database} and message = ${message}`;
  },
});

const aboutGone = 'is about somebody who has left for good';
const blanks = { problems: { value: null, rule: aboutGone }, faults: { rule: aboutGone } } as const;

/** A value that is wrong may be a name in the place of something else. */
function findInProblem(names: NameFinder, { column, value, rule }: Problem): Set<string> {
  const seen = newSighting();
  names.inJson({ [column ?? '']: value }, seen);
  names.inText(rule, seen);
  if (value !== null) names.asName(value, seen);
  return seenAtAll(seen);
}
