// In charge of who is in which class of the demo school, in what role and from when until when,
// including what ended in the autumn: leavers, dissolved classes and changes of set.
import { changeBegins, changeEnds, lessonsEnd, yearBegins } from './calendar.ts';
import { bandOf, formLetters } from './curriculum.ts';
import type { Sheet } from './demo-file.ts';
import type { Student } from './families.ts';
import { elementAt, seededRandom, stableId } from './seeded-random.ts';
import type { Random } from './seeded-random.ts';
import { successorOf } from './staff.ts';
import type { StaffMember } from './staff.ts';
import type { SchoolClass, TaughtBlock } from './timetable.ts';

export type Enrolment = {
  readonly id: string;
  readonly classId: string;
  readonly userId: string;
  readonly role: 'student' | 'teacher' | 'administrator' | 'proctor';
  readonly primary: 'true' | 'false' | '';
  readonly begin: string;
  readonly end: string;
  readonly ended: boolean;
};

type Place = { readonly student: Student; readonly group: SchoolClass };

export function drawEnrolments(
  students: readonly Student[],
  staff: readonly StaffMember[],
  registration: readonly SchoolClass[],
  teaching: readonly TaughtBlock[],
): Enrolment[] {
  const random = seededRandom('enrolments');
  const chosen = new Map<string, Set<string>>();
  const enrolments: Enrolment[] = [];

  for (const group of registration) {
    for (const student of students.filter(({ year, form }) => `${year}${form}` === group.title)) {
      enrolments.push(pupil(random, { student, group }, student.left));
    }
    enrolments.push(...taughtBy(group, staff));
    for (const head of staff.filter(({ headOfYear }) => headOfYear === group.year)) enrolments.push(adult(group, head, 'administrator', ''));
  }

  for (const { block, classes } of teaching) {
    const members = students.filter(({ year, form }) => year === block.year && block.bands.includes(bandOf(year, form)));
    const lasting = classes.filter((group) => !group.dissolved);
    for (const place of placePupils(random, { block, classes }, members, chosen)) {
      const { student, group } = place;
      const changesSet = block.grouping === 'attainment' && random.chance(0.005);
      enrolments.push(pupil(random, place, student.left || group.dissolved || changesSet));
      if (student.left) continue;
      if (group.dissolved || changesSet) {
        enrolments.push(pupil(random, { student, group: random.pick(lasting.filter((other) => other !== group)) }, false, changeBegins));
      }
    }
    for (const group of classes) enrolments.push(...taughtBy(group, staff));
  }

  return [...enrolments, ...invigilation(staff, teaching)];
}

/** Shares the pupils of a block out over its classes. */
function placePupils(random: Random, { block, classes }: TaughtBlock, members: readonly Student[], chosen: Map<string, Set<string>>): Place[] {
  if (block.grouping === 'attainment') {
    const ranked = members
      .map((student) => ({ student, rank: student.attainment + random.next() * 0.25 }))
      .sort((one, other) => other.rank - one.rank);
    return ranked.map(({ student }, position) => ({
      student,
      group: elementAt(classes, Math.floor((position * classes.length) / ranked.length)),
    }));
  }
  if (block.grouping === 'form') {
    const forms = formLetters(block.year).filter((form) => block.bands.includes(bandOf(block.year, form)));
    return members.map((student) => ({ student, group: elementAt(classes, forms.indexOf(student.form)) }));
  }
  return placeByChoice(random, classes, members, chosen);
}

/** Every pupil gets a class with room in a subject not taken in another column. */
function placeByChoice(random: Random, classes: readonly SchoolClass[], members: readonly Student[], chosen: Map<string, Set<string>>): Place[] {
  const sizes = new Map<string, number>();
  const most = Math.ceil(members.length / classes.length) + 4;
  const size = (group: SchoolClass): number => sizes.get(group.id) ?? 0;
  return random.shuffle(members).map((student) => {
    const taken = chosen.get(student.id) ?? new Set<string>();
    const open = classes.filter((group) => !taken.has(group.subject));
    const roomy = open.filter((group) => size(group) < most);
    const group = random.pick(roomy.length > 0 ? roomy : open);
    sizes.set(group.id, size(group) + 1);
    chosen.set(student.id, taken.add(group.subject));
    return { student, group };
  });
}

function pupil(random: Random, { student, group }: Place, ended: boolean, begin: string = yearBegins): Enrolment {
  const undated = !ended && begin === yearBegins && random.chance(0.04);
  const openEnded = undated || random.chance(0.04);
  return {
    id: enrolmentId(group.id, student.id, 'student'),
    classId: group.id,
    userId: student.id,
    role: 'student',
    primary: '',
    begin: undated ? '' : begin,
    end: ended ? changeEnds : openEnded ? '' : lessonsEnd(student.year),
    ended,
  };
}

/** The teachers of a class; a teacher who left is followed by a successor. */
function taughtBy(group: SchoolClass, staff: readonly StaffMember[]): Enrolment[] {
  return group.teachers.flatMap((teacher, position) => {
    const primary = position === 0 ? 'true' : 'false';
    const successor = teacher.left && !group.dissolved ? successorOf(teacher, staff) : undefined;
    const own = adult(group, teacher, 'teacher', primary);
    return successor === undefined ? [own] : [own, adult(group, successor, 'teacher', primary, changeBegins)];
  });
}

/** Invigilators watch over the English and mathematics sets of the exam years. */
function invigilation(staff: readonly StaffMember[], teaching: readonly TaughtBlock[]): Enrolment[] {
  const proctors = staff.filter(({ role }) => role === 'proctor');
  const examined = teaching.flatMap(({ classes }) => classes).filter(({ year, subject }) => (year === 11 || year === 13) && /^(En|El|Ma)$/.test(subject));
  return examined.map((group, index) => adult(group, elementAt(proctors, index % proctors.length), 'proctor', ''));
}

function adult(group: SchoolClass, member: StaffMember, role: Enrolment['role'], primary: Enrolment['primary'], begin: string = yearBegins): Enrolment {
  const ended = member.left || group.dissolved;
  return {
    id: enrolmentId(group.id, member.id, role),
    classId: group.id,
    userId: member.id,
    role,
    primary,
    begin,
    end: ended ? changeEnds : lessonsEnd(group.year),
    ended,
  };
}

/** Within the time that an enrolment has, whatever the clock says: one that began in October is not ended before. Some have no end. */
export function dayWithin(enrollments: Sheet, enrolment: string, day: string): string {
  const [, within = ''] = [enrollments.get(enrolment, 'beginDate'), day, enrollments.get(enrolment, 'endDate') || day].sort();
  return within;
}

export function enrolmentId(classId: string, userId: string, role: Enrolment['role']): string {
  return stableId('enr', `${classId}/${userId}/${role}`);
}
