// In charge of single things that happen in the demo school because somebody asks for them: a pupil joins, one leaves, a class becomes two.
// Each names whom it is about, so that it stays the same whatever else changes; ids stay what they were, and references whole.
import type { Cells, DemoFile } from './demo-file.ts';
import { Sheet } from './demo-file.ts';
import { dayWithin, enrolmentId } from './enrolments.ts';
import { addJoiner, driftingJoiners, joinerId } from './joiners.ts';
import { exampleStudent } from './named-in-reference.ts';
import { elementAt, seededRandom, stableId } from './seeded-random.ts';

export const happeningKinds = ['joiner', 'leaver', 'class-split'] as const;
export type HappeningKind = (typeof happeningKinds)[number];
/** of: the pupil who leaves, the class that is split, or the number of the joiner. at: by the clock of the school. */
export type Happening = Readonly<{ kind: HappeningKind; at: string; of: string }>;

/** Whom it is about, as the roster calls them: a joiner is kept by number, which versions before this one know too. */
export function nameWhom({ kind, of }: Happening): string {
  return kind === 'joiner' ? joinerId(Number(of)) : of;
}

/** Then the school is to be reset: nothing is drawn without an end. */
export const mostHappenings = 100;
/** A class of fewer is not worth splitting. */
const fewestToSplit = 10;

type School = Readonly<Record<'users' | 'classes' | 'enrollments' | 'demographics', Sheet>>;

/** Whom the next one of a kind is about, in the school as it is; undefined: there is nobody left for it. */
export function planHappening(files: readonly DemoFile[], kind: HappeningKind, known: readonly Happening[], at: string): Happening | undefined {
  const school = openSheets(files);
  const { users, classes } = school;
  const number = known.filter((one) => one.kind === kind).length;
  if (kind === 'joiner') return { kind, at, of: String(driftingJoiners + number) };
  const lower = (sheet: Sheet, id: string) => Number(sheet.get(id, 'grades')) <= 11;
  const candidates =
    kind === 'leaver'
      ? users.where({ role: 'student', status: '' }).filter((id) => lower(users, id) && id !== exampleStudent)
      : listLargeClasses(school).filter((id) => lower(classes, id) && !known.some(({ of }) => of === id));
  return candidates.length === 0 ? undefined : { kind, at, of: seededRandom(`${kind} ${number}`).pick(candidates) };
}

/** base: the school before anything moved, from which whoever joins takes a timetable. */
export function letHappen(files: readonly DemoFile[], base: readonly DemoFile[], happenings: readonly Happening[]): readonly DemoFile[] {
  if (happenings.length === 0) return files;
  const school = openSheets(files);
  for (const happening of happenings) makers[happening.kind](school, happening, base);
  const changed = new Map(Object.values(school).map((one) => one.close()).map((file) => [file.name, file]));
  return files.map((file) => changed.get(file.name) ?? file);
}

const makers: Readonly<Record<HappeningKind, (school: School, happening: Happening, base: readonly DemoFile[]) => void>> = {
  joiner({ users, enrollments, demographics }, { of, at }, base) {
    const drawn = openSheets(base);
    const enrolled = Map.groupBy(drawn.enrollments.where({ role: 'student', status: '' }), (id) => drawn.enrollments.get(id, 'userSourcedId'));
    const models = drawn.users.where({ role: 'student', status: '' });
    addJoiner({ users, enrollments, demographics, enrolled }, models, { place: Number(of), day: at.slice(0, 10) });
  },
  leaver({ users, enrollments, demographics }, { of, at }) {
    if (users.get(of, 'role') !== 'student') return;
    const gone = { status: 'tobedeleted', dateLastModified: at };
    users.set(of, { ...gone, enabledUser: 'false' });
    demographics.set(of, gone);
    for (const enrolment of enrollments.where({ userSourcedId: of, status: '' })) end(enrollments, enrolment, at);
  },
  'class-split'({ classes, enrollments }, { of, at }) {
    if (!classes.has(of)) return;
    const second = stableId('cls', `split/${of}`);
    classes.set(second, { ...classes.cells(of), sourcedId: second, title: `${classes.get(of, 'title')}b`, classCode: `${classes.get(of, 'classCode')}b` });
    // Teachers have both. Whether a pupil moves depends on nobody else, so that all others stay where they are when one comes or goes.
    for (const enrolment of enrollments.where({ classSourcedId: of, status: '' }).filter((id) => enrollments.get(id, 'role') !== 'student'))
      enrolInto(enrollments, enrolment, second, {});
    for (const enrolment of enrollments.where({ classSourcedId: of, role: 'student', status: '' })) {
      if (seededRandom(`split ${enrolment}`).chance(0.5)) continue;
      enrolInto(enrollments, enrolment, second, { beginDate: dayWithin(enrollments, enrolment, at.slice(0, 10)) });
      end(enrollments, enrolment, at);
    }
  },
};

function enrolInto(enrollments: Sheet, from: string, into: string, more: Cells): void {
  const id = enrolmentId(into, enrollments.get(from, 'userSourcedId'), enrollments.get(from, 'role') as Parameters<typeof enrolmentId>[2]);
  enrollments.set(id, { ...enrollments.cells(from), ...more, sourcedId: id, classSourcedId: into });
}

function end(enrollments: Sheet, enrolment: string, at: string): void {
  enrollments.set(enrolment, { status: 'tobedeleted', dateLastModified: at, endDate: dayWithin(enrollments, enrolment, at.slice(0, 10)) });
}

function listLargeClasses({ classes, enrollments }: School): string[] {
  const pupils = Map.groupBy(enrollments.where({ role: 'student', status: '' }), (id) => enrollments.get(id, 'classSourcedId'));
  return classes.where({ classType: 'scheduled', status: '' }).filter((id) => (pupils.get(id) ?? []).length >= fewestToSplit);
}

function openSheets(files: readonly DemoFile[]): School {
  const sheet = (name: string): Sheet => new Sheet(elementAt(files, files.findIndex((file) => file.name === `${name}.csv`)));
  return { users: sheet('users'), classes: sheet('classes'), enrollments: sheet('enrollments'), demographics: sheet('demographics') };
}
