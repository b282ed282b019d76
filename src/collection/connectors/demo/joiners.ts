// In charge of the pupils who join the demo school for a few days: a stock of sixty, met again and again, each with a
// parent, demographics and the timetable of a pupil who is there already.
import type { Sheet } from './demo-file.ts';
import { wrap } from './drift-plan.ts';
import { dayWithin, enrolmentId } from './enrolments.ts';
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

/**
 * key: what the ids are made of. model: whose timetable they take. label: what tells their user names from all others. upn: seven digits
 * that nobody else has. contact: the parent's number. entry: the year in which they came, of two digits. born: a year.
 */
export type NewPupil = Readonly<{ key: string; model: string; label: string; serial: string; contact: number; entry: string; born: number }>;

export function addJoiner(school: SchoolToJoin, pupils: readonly string[], { place, day }: Joining): void {
  const { users, enrollments, enrolled } = school;
  const models = pupils.filter((one) => Number(users.get(one, 'grades')) === joinersYear);
  const model = elementAt(models, wrap(place, models.length));
  const serial = `14${String(place + 1).padStart(3, '0')}`;
  const id = addPupil(school, { key: keyOf(place), model, label: String(place), serial, contact: firstJoinersContact + place, entry: '26', born: 2010 });
  for (const enrolment of enrolled.get(model) ?? []) {
    const classSourcedId = enrollments.get(enrolment, 'classSourcedId');
    enrollments.set(enrolmentId(classSourcedId, id, 'student'), {
      classSourcedId, schoolSourcedId: enrollments.get(enrolment, 'schoolSourcedId'), userSourcedId: id, role: 'student',
      beginDate: dayWithin(enrollments, enrolment, day), endDate: enrollments.get(enrolment, 'endDate'),
    });
  }
}

const keyOf = (place: number) => `joiner/${place}`;
const pupilId = (key: string) => stableId('u-s', key);

export const joinerId = (place: number) => pupilId(keyOf(place));

/** With a parent and demographics; gives the id. */
export function addPupil({ users, demographics }: Pick<SchoolToJoin, 'users' | 'demographics'>, pupil: NewPupil): string {
  const { key, model, label, entry } = pupil;
  const random = seededRandom(key.replace('/', ' '));
  const [id, parent] = [pupilId(key), stableId('u-c', key)];
  const pool = drawPool(random);
  const sex: Sex = random.chance(0.5) ? 'male' : 'female';
  const parentSex: Sex = random.chance(0.5) ? 'male' : 'female';
  const surname = random.pick(pool.family);
  const [given, family] = [drawGivenName(random, pool, sex), inflect(surname, sex)];
  const [parentGiven, parentFamily] = [drawGivenName(random, pool, parentSex), inflect(surname, parentSex)];

  const username = `${entry}${foldName(family).slice(0, 14)}${foldName(given).charAt(0)}.${label}`;
  const body = `${formerSchool}${pupil.serial}`;
  const upn = `${upnCheckLetter(body)}${body}`;
  const common = { enabledUser: 'true', orgSourcedIds: users.get(model, 'orgSourcedIds') };
  users.set(id, {
    ...common, role: 'student', username, userIds: `{UPN:${upn}}`, givenName: given, familyName: family, identifier: upn,
    email: users.get(model, 'email').replace(/^[^@]*/, username), agentSourcedIds: parent, grades: users.get(model, 'grades'),
    'metadata.house': users.get(model, 'metadata.house'), 'metadata.tutorGroup': users.get(model, 'metadata.tutorGroup'),
  });
  const sms = `07700 900${String(random.below(1000)).padStart(3, '0')}`;
  users.set(parent, {
    ...common, role: 'parent', username: `home.${foldName(parentGiven).charAt(0)}${foldName(parentFamily)}.${label}`, givenName: parentGiven,
    familyName: parentFamily, identifier: contactNumber(pupil.contact), sms, phone: sms, agentSourcedIds: id,
    email: `${foldName(parentGiven)}.${foldName(parentFamily)}.${label}@post.example`,
  });
  const birthDate = `${pupil.born}-${String(1 + random.below(8)).padStart(2, '0')}-${String(1 + random.below(28)).padStart(2, '0')}`;
  demographics.set(id, { birthDate, sex });
  return id;
}
