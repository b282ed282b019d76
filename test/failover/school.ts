// In charge of the schools of a drill: each with a small roster that is sent again and again with a number in it, an application
// that the school lets do everything, and the days, pupils and sessions that marks can be entered for.
import { scopeNames } from '../../src/access/scopes.ts';
import { useCommands } from '../commands.ts';
import { csvPackage } from '../csv-package.ts';
import { zip } from '../onboarding.ts';
import { enrolment, schoolClass, user } from '../small-school.ts';

export type DrillSchool = Readonly<{ estab: string; schoolSecret: string; uploadToken: string }>;
export type DrillApplication = Readonly<{ rp: string; clientId: string; clientSecret: string; schools: readonly DrillSchool[] }>;
/** One mark that is entered once in a drill. */
export type Place = Readonly<{ studentId: string; date: string; session: 'AM' | 'PM' }>;

const pupils = 40;
const dayMs = 24 * 60 * 60 * 1000;
const [daysBack, daysAhead] = [80, 30];
export const numbered = 'p1';
export const rosterSize = { users: pupils + 1, enrollments: pupils + 1 } as const;

const day = (from: number) => new Date(Date.now() + from * dayMs).toISOString().slice(0, 10);
const pupil = (at: number) => `p${at + 1}`;

/** The number is the name of a pupil. */
export function packageOf(number: number): Promise<Buffer> {
  const all = Array.from({ length: pupils }, (_, at) => at);
  return zip(csvPackage({
    orgs: [{ sourcedId: 'o1', name: 'School', type: 'school' }],
    academicSessions: [
      { sourcedId: 't1', title: 'Term', type: 'term', startDate: day(-daysBack - 1), endDate: day(daysAhead), schoolYear: day(0).slice(0, 4) },
    ],
    courses: [{ sourcedId: 'c1', title: 'Mathematics', orgSourcedId: 'o1' }],
    classes: [schoolClass('k1', 'Mathematics 1')],
    users: [...all.map((at) => user(pupil(at), 'student', at === 0 ? { givenName: `Number ${number}` } : {})), user('s1', 'teacher')],
    enrollments: [...all.map((at) => enrolment(`e${at}`, pupil(at), 'k1')), enrolment('s', 's1', 'k1', { role: 'teacher', primary: 'true' })],
  }));
}

export const numberIn = (givenName: string) => Number(/^Number (\d+)$/.exec(givenName)?.[1]);

/** Each is given once; yesterday is the last day, which it is everywhere. */
export function* listPlaces(): Generator<Place> {
  for (let back = 1; back < daysBack; back += 1) {
    const date = day(-back);
    const weekday = new Date(date).getUTCDay();
    if (weekday === 0 || weekday === 6) continue;
    for (const session of ['AM', 'PM'] as const) for (let at = 0; at < pupils; at += 1) yield { studentId: pupil(at), date, session };
  }
}

export async function makeSchools(estabs: readonly string[], settings: Record<string, string>, callbackUrl: string): Promise<DrillApplication> {
  const { json } = useCommands(settings);
  const application = await json<{ rp: string; clientId: string; clientSecret: string }>(
    `application add --rp drill --name Drill --callback-url ${callbackUrl} --scopes ${scopeNames.join()}`,
  );
  const schools: DrillSchool[] = [];
  for (const estab of estabs) {
    await json(`school add --estab ${estab} --name ${estab} --email office@${estab}.example --connector csv`);
    const { schoolSecret } = await json<{ schoolSecret: string }>(`authorise --rp drill --estab ${estab}`);
    const { token } = await json<{ token: string }>(`school upload-token --estab ${estab}`);
    schools.push({ estab, schoolSecret, uploadToken: token });
  }
  return { ...application, schools };
}
