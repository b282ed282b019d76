// In charge of what changes in the demo school as time goes by: it takes the school as it was drawn and makes every
// change that the plan has in force. A change depends on its own number alone, never on the other changes, so that it
// comes, stays the same and is taken back without a trace. Ids never change, and references stay whole: who leaves is
// marked as to be deleted, and who joins brings the records that belong to them.
import { departments } from './curriculum.ts';
import { Sheet, type DemoFile } from './demo-file.ts';
import { changesInForce, wrap, type Change, type ChangeKind } from './drift-plan.ts';
import { dayWithin, enrolmentId } from './enrolments.ts';
import { houses } from './families.ts';
import { addJoiner, driftingJoiners, type SchoolToJoin } from './joiners.ts';
import { foldName } from './naming.ts';
import { elementAt, seededRandom } from './seeded-random.ts';

type School = SchoolToJoin & { readonly classes: Sheet };
type Lists = Readonly<Record<'lowerSchool' | 'sixthForm' | 'contacts' | 'classes', readonly string[]>>;

export function driftSchool(files: readonly DemoFile[], at: Date): DemoFile[] {
  const sheet = (name: string): Sheet => new Sheet(elementAt(files, files.findIndex((file) => file.name === name)));
  const sheets = { users: sheet('users.csv'), classes: sheet('classes.csv'), enrollments: sheet('enrollments.csv'), demographics: sheet('demographics.csv') };
  const school: School = { ...sheets, enrolled: listEnrolled(sheets.enrollments) };
  const lists = listTargets(school);
  for (const change of changesInForce(at)) makers[change.kind](school, lists, change);
  const changed = new Map(Object.values(sheets).map((one) => one.close()).map((file) => [file.name, file]));
  return files.map((file) => changed.get(file.name) ?? file);
}

const makers: Readonly<Record<ChangeKind, (school: School, lists: Lists, change: Change) => void>> = {
  email({ users }, lists, change) {
    const id = pick(lists.lowerSchool, change);
    const old = users.get(id, 'email');
    const email = `${foldName(users.get(id, 'givenName'))}.${old}`;
    users.set(id, { email, userIds: users.get(id, 'userIds').replace(old, email) });
  },
  house({ users }, lists, change) {
    const id = pick(lists.lowerSchool, change);
    users.set(id, { 'metadata.house': following(houses, users.get(id, 'metadata.house')) });
  },
  room({ classes }, lists, change) {
    const id = pick(lists.classes, change);
    const room = classes.get(id, 'location');
    classes.set(id, { location: following(departments.find(({ rooms }) => rooms.includes(room))?.rooms ?? [], room) });
  },
  contactPhone({ users }, lists, change) {
    const id = pick(lists.contacts, change);
    const [old, phone] = [users.get(id, 'sms'), users.get(id, 'phone')];
    const number = (Number(old.slice(-3)) + 1 + seededRandom(`phone ${id}`).below(999)) % 1000;
    const sms = `07700 900${String(number).padStart(3, '0')}`;
    users.set(id, { sms, phone: phone === old ? sms : phone });
  },
  username({ users }, lists, change) {
    const id = pick(lists.lowerSchool, change);
    users.set(id, { username: `${users.get(id, 'username')}.tb` });
  },
  tutorGroup(school, lists, change) {
    const id = pick(lists.lowerSchool, change);
    const { classes, enrollments, enrolled, users } = school;
    const [from = ''] = (enrolled.get(id) ?? []).filter((one) => classes.get(enrollments.get(one, 'classSourcedId'), 'classType') === 'homeroom');
    const group = enrollments.get(from, 'classSourcedId');
    const groups = classes.where({ classType: 'homeroom', grades: classes.get(group, 'grades') });
    const to = following(groups, group);
    moveClass(school, from, to, change);
    users.set(id, { 'metadata.tutorGroup': classes.get(to, 'title') });
  },
  teachingSet(school, lists, change) {
    const id = pick(lists.lowerSchool, change);
    const { classes, enrollments, enrolled } = school;
    const titleOf = (enrolment: string): string => classes.get(enrollments.get(enrolment, 'classSourcedId'), 'title');
    // Sets by attainment: those of one half-year and subject meet at the same time.
    const from = seededRandom(`set ${id}`).pick((enrolled.get(id) ?? []).filter((one) => /^\d+[AB]\/(En|Ma|Sc|Li)\d$/.test(titleOf(one))));
    const stem = titleOf(from).slice(0, -1);
    const others = classes.where({ status: '', classType: 'scheduled' }).filter((one) => classes.get(one, 'title').startsWith(stem));
    const to = others.find((one) => !enrollments.has(enrolmentId(one, id, 'student')));
    if (to !== undefined) moveClass(school, from, to, change);
  },
  joiner: (school, lists, { number, day }) => addJoiner(school, lists.sixthForm, { place: wrap(number, driftingJoiners), day }),
  leaver({ users, demographics, enrollments, enrolled }, lists, change) {
    const id = pick(lists.sixthForm, change);
    const gone = { status: 'tobedeleted', dateLastModified: change.since };
    users.set(id, { ...gone, enabledUser: 'false' });
    demographics.set(id, gone);
    for (const enrolment of enrolled.get(id) ?? []) enrollments.set(enrolment, { ...gone, endDate: dayWithin(enrollments, enrolment, change.day) });
  },
};

/** Ends one enrolment and begins another in its place. */
function moveClass({ enrollments }: School, from: string, to: string, change: Change): void {
  const userSourcedId = enrollments.get(from, 'userSourcedId');
  const next = {
    classSourcedId: to,
    schoolSourcedId: enrollments.get(from, 'schoolSourcedId'),
    userSourcedId,
    role: 'student',
    endDate: enrollments.get(from, 'endDate'),
  };
  const day = dayWithin(enrollments, from, change.day);
  enrollments.set(enrolmentId(to, userSourcedId, 'student'), { ...next, beginDate: day });
  enrollments.set(from, { status: 'tobedeleted', dateLastModified: change.since, endDate: day });
}

/** Pupils who had left when the school was drawn, and classes that had been dissolved, stay as they are. */
function listTargets({ users, classes }: School): Lists {
  const pupils = users.where({ role: 'student', status: '' });
  const shuffled = (list: readonly string[], name: string): string[] => seededRandom(`drift ${name}`).shuffle(list);
  return {
    lowerSchool: shuffled(pupils.filter((id) => Number(users.get(id, 'grades')) <= 11), 'lower school'),
    // Those who come and go are in the sixth form, as in life; with few classes each, they also make few records.
    sixthForm: shuffled(pupils.filter((id) => Number(users.get(id, 'grades')) > 11), 'sixth form'),
    contacts: shuffled(['parent', 'guardian', 'relative'].flatMap((role) => users.where({ role })), 'contacts'),
    classes: shuffled(classes.where({ status: '' }), 'classes'),
  };
}

function listEnrolled(enrollments: Sheet): Map<string, string[]> {
  const enrolled = new Map<string, string[]>();
  for (const id of enrollments.where({ role: 'student', status: '' })) {
    const user = enrollments.get(id, 'userSourcedId');
    enrolled.set(user, [...(enrolled.get(user) ?? []), id]);
  }
  return enrolled;
}

/** Goes round a shuffled list, so that no two changes of a kind that are in force meet; kinds begin at different places. */
function pick(list: readonly string[], { kind, number }: Change): string {
  return elementAt(list, wrap(number + seededRandom(`begin ${kind}`).below(list.length), list.length));
}

function following<T>(list: readonly T[], one: T): T {
  return elementAt(list, (list.indexOf(one) + 1) % list.length);
}
