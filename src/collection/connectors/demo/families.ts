// In charge of the households of the demo school: its pupils, brothers and sisters together,
// and the parents, guardians and relatives the school may contact.
import { birthplacesAtHome, localPool } from './name-pools.ts';
import type { Birthplace, NamePool } from './name-pools.ts';
import { formLetters, yearGroups } from './curriculum.ts';
import { drawGivenName, drawMiddleName, drawPool, foldName, inflect, uniqueTexts } from './naming.ts';
import type { Sex } from './naming.ts';
import { elementAt, seededRandom, stableId } from './seeded-random.ts';
import type { Random } from './seeded-random.ts';
import { upnIssuer } from './upn.ts';

export type Student = {
  readonly id: string;
  readonly given: string;
  readonly middle: string;
  readonly family: string;
  readonly sex: Sex;
  readonly year: number;
  readonly form: string;
  readonly house: string;
  readonly username: string;
  readonly upn: string;
  readonly born: string;
  /** Undefined where the school has not recorded it. */
  readonly birthplace: Birthplace | undefined;
  /** Known to the trust's sign-on service besides the school's own directory. */
  readonly federated: boolean;
  readonly enabled: boolean;
  readonly left: boolean;
  /** From 0 to 1, decides the sets. */
  readonly attainment: number;
  readonly contacts: readonly string[];
};

export type Contact = {
  readonly id: string;
  readonly role: 'parent' | 'guardian' | 'relative';
  readonly given: string;
  readonly family: string;
  readonly username: string;
  /** The number of the address book of the school's MIS. */
  readonly number: string;
  readonly email: string;
  readonly mobile: string;
  readonly phone: string;
  readonly children: readonly string[];
};

type Adult = { readonly role: Contact['role']; readonly sex: Sex; readonly family: string; readonly pool: NamePool };

const pupilsPerYear: ReadonlyMap<number, number> = new Map([[7, 208], [8, 206], [9, 204], [10, 200], [11, 196], [12, 104], [13, 92]]);
const leaversPerYear: ReadonlyMap<number, number> = new Map([[7, 1], [8, 2], [9, 2], [10, 2], [11, 1], [12, 3], [13, 1]]);
export const houses: readonly string[] = ['Attenborough', 'Franklin', 'Seacole', 'Turing'];

/** Clients match people by `identifier`, and some stop at the first who has none. */
export function contactNumber(place: number): string {
  return `TBC${10_001 + place}`;
}

export function drawFamilies(laestab: string): { students: Student[]; contacts: Contact[] } {
  const random = seededRandom('families');
  const issueUpn = upnIssuer();
  const studentName = uniqueTexts();
  const contactName = uniqueTexts();
  const contactEmail = uniqueTexts();
  const placed = new Map<number, number>();
  const students: Student[] = [];
  const contacts: Contact[] = [];
  const places = random.shuffle(yearGroups.flatMap((year) => Array<number>(pupilsPerYear.get(year) ?? 0).fill(year)));

  while (places.length > 0) {
    const years = drawSiblingYears(random, places);
    const adults = drawAdults(random);
    const key = `${students.length}`;
    const childIds = years.map((_, child) => stableId('u-s', `${key}/${child}`));
    const contactIds = adults.map((_, adult) => stableId('u-c', `${key}/${adult}`));
    const house = random.pick(houses);
    const { name: surname, pool } = drawSurname(random, adults);
    const twinBirthday = random.next();
    const givenNames: string[] = [];

    years.forEach((year, child) => {
      const sex: Sex = random.chance(0.5) ? 'male' : 'female';
      const given = drawGivenName(random, pool, sex, givenNames);
      givenNames.push(given);
      const family = inflect(surname, sex);
      const number = placed.get(year) ?? 0;
      placed.set(year, number + 1);
      const birthplace = drawBirthplace(random, pool);
      const temporary = birthplace !== undefined && birthplace.country !== 'GB' && random.chance(0.04);
      // Joined in Year 7, or in the sixth form.
      const joined = year >= 12 && random.chance(0.25) ? 38 - year : 33 - year;
      const left = number < (leaversPerYear.get(year) ?? 0);
      students.push({
        id: elementAt(childIds, child),
        given,
        middle: drawMiddleName(random, pool, sex, given),
        family,
        sex,
        year,
        form: elementAt(formLetters(year), number % formLetters(year).length),
        house,
        username: studentName(`${joined}${foldName(family).slice(0, 14)}${foldName(given).charAt(0)}#`),
        upn: temporary ? issueUpn(laestab, 2026, true) : issueUpn(`99920${10 + random.below(9)}`, 2026 - year, false),
        born: birthDate(year, years.filter((other) => other === year).length > 1 ? twinBirthday : random.next()),
        birthplace,
        federated: random.chance(0.2),
        enabled: !left && !random.chance(0.006),
        left,
        attainment: random.next(),
        contacts: contactIds,
      });
    });

    adults.forEach((adult, index) => {
      const given = drawGivenName(random, adult.pool, adult.sex);
      const plain = `${foldName(given)}.${foldName(adult.family)}`;
      const mobile = random.chance(0.93) ? `07700 900${String(random.below(1000)).padStart(3, '0')}` : '';
      contacts.push({
        id: elementAt(contactIds, index),
        role: adult.role,
        given,
        family: adult.family,
        username: contactName(`home.${foldName(given).charAt(0)}${foldName(adult.family)}#`),
        number: contactNumber(contacts.length),
        email: random.chance(0.9) ? contactEmail(`${plain}#@${random.pick(['post', 'mail', 'inbox'])}.example`) : '',
        mobile,
        phone: random.chance(0.35) ? `0113 496 0${String(random.below(1000)).padStart(3, '0')}` : mobile,
        children: childIds,
      });
    });
  }
  return { students, contacts };
}

/** Takes one to three places: brothers and sisters are two or more years apart, or twins. */
function drawSiblingYears(random: Random, places: number[]): number[] {
  const years = [places.pop() ?? 7];
  const twins = random.chance(0.012);
  const wanted = twins ? 2 : random.chance(0.8) ? 1 : random.chance(0.85) ? 2 : 3;
  while (years.length < wanted) {
    const fits = (place: number): boolean => (twins ? years.includes(place) : years.every((year) => Math.abs(year - place) >= 2));
    const index = places.findLastIndex(fits);
    if (index < 0) break;
    years.push(...places.splice(index, 1));
  }
  return years;
}

function drawAdults(random: Random): Adult[] {
  const pool = drawPool(random);
  const otherPool = random.chance(0.1) ? drawPool(random) : pool;
  const father: Adult = adult('parent', 'male', random.pick(pool.family), pool);
  const ownName = random.chance(0.35) || otherPool !== pool;
  const mother: Adult = ownName
    ? adult('parent', 'female', random.pick(otherPool.family), otherPool)
    : { ...father, sex: 'female', family: inflectLike(father.family, pool) };
  const shape = random.next();
  if (shape < 0.66) return random.chance(0.6) ? [mother, father] : [father, mother];
  if (shape < 0.86) return [mother];
  if (shape < 0.9) return [father];
  if (shape < 0.95) return [mother, adult('relative', random.chance(0.7) ? 'female' : 'male', random.pick(otherPool.family), otherPool)];
  return [adult('guardian', random.chance(0.6) ? 'female' : 'male', random.pick(otherPool.family), otherPool)];
}

function adult(role: Contact['role'], sex: Sex, familyName: string, pool: NamePool): Adult {
  return { role, sex, family: inflect(familyName, sex), pool };
}

/** The women's form of a husband's family name. */
function inflectLike(family: string, pool: NamePool): string {
  return inflect(pool.family.find((name) => inflect(name, 'male') === family) ?? family, 'female');
}

/** Children bear one adult's name or both joined by a hyphen. */
function drawSurname(random: Random, adults: readonly Adult[]): { name: string; pool: NamePool } {
  const main = random.chance(0.6) ? elementAt(adults, adults.length - 1) : elementAt(adults, 0);
  const other = adults.find((adult) => adult.family !== main.family);
  const paired = main.pool.family.find((name) => inflect(name, main.sex) === main.family) ?? main.family;
  const simple = !/[- |]/.test(paired) && other !== undefined && !/[- ]/.test(other.family);
  return { name: simple && random.chance(0.25) ? `${other.family}-${main.family}` : paired, pool: main.pool };
}

/** Recorded for about a third of the pupils. */
function drawBirthplace(random: Random, pool: NamePool): Birthplace | undefined {
  if (!random.chance(0.35)) return undefined;
  const homeShare = pool === localPool ? 0.97 : 0.55;
  return random.pick(random.chance(homeShare) ? birthplacesAtHome : pool.birthplaces);
}

/** A day between 1 September and the 31 August that closes the year group. */
function birthDate(year: number, fraction: number): string {
  const day = 24 * 60 * 60 * 1000;
  const first = Date.UTC(2021 - year, 8, 1);
  const days = (Date.UTC(2022 - year, 8, 1) - first) / day;
  return new Date(first + Math.floor(fraction * days) * day).toISOString().slice(0, 10);
}
