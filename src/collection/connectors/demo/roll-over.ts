// In charge of the summer of the demo school: pupils move up a year, the oldest leave, and so do those of year 11 whom the sixth form has no
// room for; a new year 7 joins. Courses, classes and enrolments are those of the new year, taught by those who taught them before. People
// keep their ids, and references stay whole. Whoever moves up takes the timetable of somebody who was in that year before.
import { later, lessonsEnd, sessionsOf, yearBeginning } from './calendar.ts';
import { Sheet, type Cells, type DemoFile } from './demo-file.ts';
import { enrolmentId } from './enrolments.ts';
import { addPupil } from './joiners.ts';
import { elementAt } from './seeded-random.ts';

const [youngest, sixthForm, oldest] = [7, 12, 13] as const;
/** Behind all numbers that others were given. */
const firstIntakeContact = 85_000;

type Year = Readonly<{ number: number; old: string; young: string }>;
type Old = Readonly<Record<'users' | 'courses' | 'classes' | 'enrollments' | 'demographics', Sheet>>;

/** The school as it is after one more summer; number: the how manyeth. */
export function rollOver(files: readonly DemoFile[], number: number): DemoFile[] {
  const sheet = (name: string): Sheet => new Sheet(elementAt(files, files.findIndex((file) => file.name === `${name}.csv`)));
  const old: Old = {
    users: sheet('users'), courses: sheet('courses'), classes: sheet('classes'), enrollments: sheet('enrollments'), demographics: sheet('demographics'),
  };
  const year: Year = { number, old: String(26 + number), young: String(27 + number) };
  const sessions = sheet('academicSessions');
  for (const { id, title, type, start, end, parent, schoolYear } of sessionsOf(number))
    sessions.set(id, { title, type, startDate: start, endDate: end, parentSourcedId: parent, schoolYear });
  const [courses, classes, enrollments] = [old.courses.emptied(), old.classes.emptied(), old.enrollments.emptied()];
  for (const id of old.courses.ids())
    courses.set(rename(id, year), { ...old.courses.cells(id), sourcedId: rename(id, year), schoolYearSourcedId: yearId(year) });
  const terms = sessionsOf(number).filter(({ type }) => type === 'term').map(({ id }) => id).join();
  for (const id of old.classes.where({ status: '' })) {
    const cells = { ...old.classes.cells(id), sourcedId: rename(id, year), courseSourcedId: rename(old.classes.get(id, 'courseSourcedId'), year) };
    classes.set(rename(id, year), { ...cells, termSourcedIds: terms });
  }
  const { users, demographics, timetables } = movePeople(old, year);
  for (const id of old.enrollments.where({ status: '' }).filter((one) => old.enrollments.get(one, 'role') !== 'student'))
    enrol(old, { users, enrollments, classes }, year, id, old.enrollments.get(id, 'userSourcedId'));
  const enrolled = Map.groupBy(old.enrollments.where({ role: 'student', status: '' }), (id) => old.enrollments.get(id, 'userSourcedId'));
  for (const [pupil, model] of timetables) for (const id of enrolled.get(model) ?? []) enrol(old, { users, enrollments, classes }, year, id, pupil);
  const changed = new Map([sessions, courses, classes, users, enrollments, demographics].map((one) => one.close()).map((file) => [file.name, file]));
  return files.map((file) => changed.get(file.name) ?? file);
}

type People = { users: Sheet; demographics: Sheet; timetables: Map<string, string> };

/** timetables: of each pupil, whose they take. */
function movePeople(old: Old, year: Year): People {
  const [users, demographics] = [old.users.emptied(), old.demographics.emptied()];
  const timetables = new Map<string, string>();
  const pupils = old.users.where({ role: 'student', status: '' });
  const ofGrade = Map.groupBy(pupils, (id) => Number(old.users.get(id, 'grades')));
  const isAdult = (id: string) => !['student', 'parent', 'guardian', 'relative'].includes(old.users.get(id, 'role'));
  for (const id of old.users.where({ status: '' }).filter(isAdult)) users.set(id, old.users.cells(id));
  for (let grade = youngest + 1; grade <= oldest; grade += 1) {
    const models = ofGrade.get(grade) ?? [];
    const movers = ofGrade.get(grade - 1) ?? [];
    for (const [place, id] of movers.slice(0, grade === sixthForm ? models.length : movers.length).entries()) {
      const model = elementAt(models, place % models.length);
      users.set(id, { ...old.users.cells(id), grades: gradeOf(grade), 'metadata.tutorGroup': old.users.get(model, 'metadata.tutorGroup') });
      demographics.set(id, old.demographics.cells(id));
      timetables.set(id, model);
    }
  }
  keepContacts(old.users, users);
  for (const [place, model] of (ofGrade.get(youngest) ?? []).entries()) {
    const three = String(place + 1).padStart(3, '0');
    const id = addPupil({ users, demographics }, {
      key: `intake-${year.young}/${place}`, model, label: `${year.young}${three}`, serial: `${20 + year.number}${three}`,
      contact: firstIntakeContact + year.number * 1000 + place, entry: year.young, born: 2015 + year.number,
    });
    users.set(id, { grades: gradeOf(youngest), 'metadata.tutorGroup': old.users.get(model, 'metadata.tutorGroup') });
    timetables.set(id, model);
  }
  return { users, demographics, timetables };
}

/** Of children who are still there; without one they go too. */
function keepContacts(old: Sheet, users: Sheet): void {
  for (const id of ['parent', 'guardian', 'relative'].flatMap((role) => old.where({ role, status: '' }))) {
    const children = old.get(id, 'agentSourcedIds').split(',').filter((child) => users.has(child));
    if (children.length > 0) users.set(id, { ...old.cells(id), agentSourcedIds: children.join() });
  }
}

type Young = Readonly<{ users: Sheet; enrollments: Sheet; classes: Sheet }>;

/** As somebody was enrolled in the class before it, from: that enrolment. Whoever has left is enrolled nowhere. */
function enrol(old: Old, { users, enrollments, classes }: Young, year: Year, from: string, user: string): void {
  const into = rename(old.enrollments.get(from, 'classSourcedId'), year);
  if (!classes.has(into) || !users.has(user)) return;
  const cells: Cells = old.enrollments.cells(from);
  const id = enrolmentId(into, user, cells.role as Parameters<typeof enrolmentId>[2]);
  const end = cells.role === 'student' ? lessonsEnd(Number(classes.get(into, 'grades')), year.number) : later(cells.endDate ?? '', 1);
  enrollments.set(id, { ...cells, sourcedId: id, classSourcedId: into, userSourcedId: user, beginDate: yearBeginning(year.number), endDate: end });
}

const yearId = ({ young }: Year) => `ses-20${young}`;
/** Courses and classes have the year in their ids. */
const rename = (id: string, { old, young }: Year) => id.replace(`-${old}-`, `-${young}-`);
const gradeOf = (grade: number) => String(grade).padStart(2, '0');
