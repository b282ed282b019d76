// In charge of the staff of the demo school: teachers with the subjects they teach, leadership and
// office, classroom aides and invigilators.
import { drawGivenName, drawMiddleName, drawPool, foldName, inflect, uniqueTexts } from './naming.ts';
import type { Sex } from './naming.ts';
import { seededRandom, stableId } from './seeded-random.ts';

export type StaffMember = {
  readonly id: string;
  readonly role: 'teacher' | 'administrator' | 'aide' | 'proctor';
  readonly given: string;
  readonly middle: string;
  readonly family: string;
  readonly username: string;
  readonly payroll: string;
  readonly phone: string;
  /** Codes of the departments; empty for staff of the whole school. */
  readonly departments: readonly string[];
  /** Codes of the subjects a teacher takes. */
  readonly subjects: readonly string[];
  readonly federated: boolean;
  readonly enabled: boolean;
  readonly left: boolean;
  /** The head teacher and the business manager also belong to the trust. */
  readonly trust: boolean;
  /** Heads of year look after the registration groups of this year. */
  readonly headOfYear: number | undefined;
};

type Post = {
  readonly role: StaffMember['role'];
  readonly count: number;
  readonly departments?: readonly string[];
  readonly subjects?: readonly string[];
  readonly left?: boolean;
  readonly trust?: boolean;
  readonly headOfYear?: number;
};

/** Teaching posts: number of teachers, department, subjects. */
const teaching: readonly (readonly [count: number, department: string, subjects: string])[] = [
  [7, 'ENG', 'En Li El'],
  [2, 'ENG', 'En Li'],
  [6, 'MAT', 'Ma'],
  [3, 'MAT', 'Ma Fm'],
  [4, 'SCI', 'Sc Ts Bi'],
  [3, 'SCI', 'Sc Ts Ch'],
  [2, 'SCI', 'Sc Ts Ph'],
  [3, 'HUM', 'Hi'],
  [3, 'HUM', 'Gg'],
  [2, 'HUM', 'Hi Gg'],
  [3, 'HUM', 'Re Rs'],
  [3, 'MFL', 'Fr Sp'],
  [1, 'MFL', 'Fr Ge'],
  [1, 'MFL', 'Sp Ge'],
  [2, 'ART', 'Ar'],
  [1, 'ART', 'Ar Md'],
  [2, 'ART', 'Mu'],
  [1, 'ART', 'Dr Md'],
  [2, 'CAB', 'Cp'],
  [1, 'CAB', 'Cp Bs'],
  [1, 'CAB', 'Bs Ec'],
  [2, 'DTF', 'Dt'],
  [2, 'DTF', 'Fd Dt'],
  [5, 'PED', 'Pe Gp'],
  [2, 'SOC', 'So Ps Ep'],
  [2, 'SOC', 'Py Ps Ep'],
  [1, 'SOC', 'Hc Ps'],
];

const posts: readonly Post[] = [
  ...teaching.map(([count, department, subjects]): Post => ({
    role: 'teacher',
    count,
    departments: [department],
    subjects: subjects.split(' '),
  })),
  { role: 'teacher', count: 1, departments: ['SCI'], subjects: ['Sc', 'Ts', 'Ph'], left: true },
  { role: 'teacher', count: 1, departments: ['MFL'], subjects: ['Fr', 'Sp'], left: true },
  { role: 'aide', count: 1, left: true },
  { role: 'administrator', count: 2, trust: true },
  ...[7, 8, 9, 10, 11, 12, 13].map((headOfYear): Post => ({ role: 'administrator', count: 1, headOfYear })),
  { role: 'administrator', count: 3 },
  { role: 'aide', count: 7 },
  { role: 'aide', count: 2, departments: ['SCI'] },
  { role: 'proctor', count: 2 },
];

/** Those who left in the autumn are part of the list; see successorOf. */
export function drawStaff(): StaffMember[] {
  const random = seededRandom('staff');
  const username = uniqueTexts();
  const staff: StaffMember[] = [];
  for (const post of posts) {
    for (let member = 0; member < post.count; member += 1) {
      const pool = drawPool(random);
      const sex: Sex = random.chance(0.38) ? 'male' : 'female';
      const given = drawGivenName(random, pool, sex);
      const family = inflect(random.pick(pool.family), sex);
      const left = post.left ?? false;
      staff.push({
        id: stableId('u-e', `${staff.length}`),
        role: post.role,
        given,
        middle: drawMiddleName(random, pool, sex, given),
        family,
        username: username(`${foldName(given).charAt(0)}.${foldName(family)}#`),
        payroll: `TB${String(4100 + staff.length * 7 + random.below(7))}`,
        phone: random.chance(0.5) ? `0113 496 0${String(200 + staff.length)}` : '',
        departments: post.departments ?? [],
        subjects: post.subjects ?? [],
        federated: random.chance(0.4),
        enabled: !left && !random.chance(0.02),
        left,
        trust: post.trust ?? false,
        headOfYear: post.headOfYear,
      });
    }
  }
  return staff;
}

/** Whoever takes over the classes of a teacher who left: the last of the same subjects to be appointed. */
export function successorOf(leaver: StaffMember, staff: readonly StaffMember[]): StaffMember | undefined {
  return staff.findLast((other) => !other.left && other.subjects.join() === leaver.subjects.join());
}
