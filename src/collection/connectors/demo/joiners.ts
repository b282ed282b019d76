// In charge of the pupils who join the demo school for a few days: a stock of sixty, met again and again, each with a
// parent, demographics and the timetable of a pupil who is there already.
import { lessonsEnd } from './calendar.ts';
import type { Sheet } from './demo-file.ts';
import { wrap } from './drift-plan.ts';
import { enrolmentId } from './enrolments.ts';
import { contactNumber } from './families.ts';
import { drawGivenName, drawPool, foldName, inflect, type Sex } from './naming.ts';
import { elementAt, seededRandom, stableId } from './seeded-random.ts';
import { upnCheckLetter } from './upn.ts';

export type SchoolToJoin = {
  readonly users: Sheet;
  readonly enrollments: Sheet;
  readonly demographics: Sheet;
  /** By user, the ids of the pupils' enrolments that had not ended when the school was drawn. */
  readonly enrolled: ReadonlyMap<string, readonly string[]>;
};

/** Without an end to the stock, a school watched for years would fill up with leavers. */
export const driftingJoiners = 60;
/** A school that has given its number to nobody else here. */
const formerSchool = '9992030';
const joinersYear = 12;
/** Behind all that the school gave out when it was drawn. */
const firstJoinersContact = 80_000;

/** place: which joiner it is. day: the first. */
export type Joining = Readonly<{ place: number; day: string }>;

export function addJoiner({ users, enrollments, demographics, enrolled }: SchoolToJoin, pupils: readonly string[], { place, day }: Joining): void {
  const random = seededRandom(`joiner ${place}`);
  const [id, parent] = [stableId('u-s', `joiner/${place}`), stableId('u-c', `joiner/${place}`)];
  const pool = drawPool(random);
  const sex: Sex = random.chance(0.5) ? 'male' : 'female';
  const parentSex: Sex = random.chance(0.5) ? 'male' : 'female';
  const surname = random.pick(pool.family);
  const [given, family] = [drawGivenName(random, pool, sex), inflect(surname, sex)];
  const [parentGiven, parentFamily] = [drawGivenName(random, pool, parentSex), inflect(surname, parentSex)];
  const models = pupils.filter((one) => Number(users.get(one, 'grades')) === joinersYear);
  const model = elementAt(models, wrap(place, models.length));

  const username = `26${foldName(family).slice(0, 14)}${foldName(given).charAt(0)}.${place}`;
  const body = `${formerSchool}14${String(place + 1).padStart(3, '0')}`;
  const upn = `${upnCheckLetter(body)}${body}`;
  const common = { enabledUser: 'true', orgSourcedIds: users.get(model, 'orgSourcedIds') };
  users.set(id, {
    ...common, role: 'student', username, userIds: `{UPN:${upn}}`, givenName: given, familyName: family, identifier: upn,
    email: users.get(model, 'email').replace(/^[^@]*/, username), agentSourcedIds: parent, grades: users.get(model, 'grades'),
    'metadata.house': users.get(model, 'metadata.house'), 'metadata.tutorGroup': users.get(model, 'metadata.tutorGroup'),
  });
  const sms = `07700 900${String(random.below(1000)).padStart(3, '0')}`;
  users.set(parent, {
    ...common, role: 'parent', username: `home.${foldName(parentGiven).charAt(0)}${foldName(parentFamily)}.${place}`, givenName: parentGiven,
    familyName: parentFamily, identifier: contactNumber(firstJoinersContact + place), sms, phone: sms, agentSourcedIds: id,
    email: `${foldName(parentGiven)}.${foldName(parentFamily)}.${place}@post.example`,
  });
  demographics.set(id, { birthDate: `2010-${String(1 + random.below(8)).padStart(2, '0')}-${String(1 + random.below(28)).padStart(2, '0')}`, sex });

  for (const enrolment of enrolled.get(model) ?? []) {
    const classSourcedId = enrollments.get(enrolment, 'classSourcedId');
    enrollments.set(enrolmentId(classSourcedId, id, 'student'), {
      classSourcedId, schoolSourcedId: enrollments.get(enrolment, 'schoolSourcedId'), userSourcedId: id, role: 'student',
      beginDate: day, endDate: lessonsEnd(joinersYear),
    });
  }
}
