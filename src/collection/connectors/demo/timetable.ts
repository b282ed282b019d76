// In charge of the classes of the demo school: registration groups and teaching sets, each with its
// periods, room and teachers, placed so that pupils are never, and teachers and rooms seldom, wanted twice in one period.
import { blocksOf, departments, dissolvedClasses, formLetters, subjects, yearGroups } from './curriculum.ts';
import type { Block } from './curriculum.ts';
import { elementAt, seededRandom, stableId } from './seeded-random.ts';
import type { StaffMember } from './staff.ts';
import { successorOf } from './staff.ts';

export type SchoolClass = {
  readonly id: string;
  readonly title: string;
  readonly type: 'homeroom' | 'scheduled';
  readonly year: number;
  /** Subject code; `Rg` for registration. */
  readonly subject: string;
  readonly room: string;
  readonly periods: readonly string[];
  /** The first is the primary teacher. */
  readonly teachers: readonly StaffMember[];
  readonly dissolved: boolean;
};

export type TaughtBlock = { readonly block: Block; readonly classes: readonly SchoolClass[] };

const periods: readonly string[] = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri'].flatMap((day) => [1, 2, 3, 4, 5].map((period) => `${day}${period}`));

export function drawRegistrationGroups(staff: readonly StaffMember[]): SchoolClass[] {
  const random = seededRandom('tutors');
  const tutors = random.shuffle(staff.filter((member) => member.role === 'teacher' && !member.left));
  const rooms = random.shuffle(departments.flatMap((department) => (department.code === 'PED' ? [] : department.rooms)));
  return yearGroups.flatMap((year) => formLetters(year).map((letter) => ({ year, title: `${year}${letter}` }))).map(({ year, title }, index) => ({
    id: classId(title),
    title,
    type: 'homeroom',
    year,
    subject: 'Rg',
    room: elementAt(rooms, index),
    periods: ['Reg'],
    teachers: [elementAt(tutors, index)],
    dissolved: false,
  }));
}

export function drawTeaching(staff: readonly StaffMember[]): TaughtBlock[] {
  const random = seededRandom('timetable');
  const diary = bookings();
  // A leaver's successor is kept free of the leaver's lessons, so the hand-over makes no clash.
  const teachers = staff.filter((member) => member.role === 'teacher' && !successors(staff).has(member.id));

  const chooseTeachers = (subject: string, slots: readonly string[], shared: boolean): StaffMember[] => {
    const able = teachers.filter((teacher) => teacher.subjects.includes(subject));
    const first = leastBusy(able, (teacher) => diary.clashes(teacher.id, slots) * 1000 + diary.load(teacher.id));
    const free = able.filter((teacher) => teacher !== first && diary.clashes(teacher.id, slots) === 0);
    return shared && free.length > 0 ? [first, leastBusy(free, (teacher) => diary.load(teacher.id))] : [first];
  };

  const numbered = new Map<string, number>();
  return inTimetablingOrder(teachers).map((block) => {
    const slots = choosePeriods(block, diary, teachers, random.shuffle(periods));
    for (const band of block.bands) diary.book(`${block.year}${band}`, slots);
    const classes = block.sets.map((subject): SchoolClass => {
      const stem = `${block.year}${block.letter}/${subject}`;
      const number = (numbered.get(stem) ?? 0) + 1;
      numbered.set(stem, number);
      const title = `${stem}${number}`;
      const assigned = chooseTeachers(subject, slots, random.chance(block.year >= 12 ? 0.2 : 0.04));
      for (const teacher of assigned) diary.book(teacher.id, slots);
      const rooms = departments.find((department) => department.code === subjects.get(subject)?.department)?.rooms ?? [];
      const room = leastBusy(rooms, (name) => diary.clashes(name, slots) * 1000 + diary.load(name));
      diary.book(room, slots);
      return {
        id: classId(title),
        title,
        type: 'scheduled',
        year: block.year,
        subject,
        room,
        periods: slots,
        teachers: assigned,
        dissolved: dissolvedClasses.includes(title),
      };
    });
    return { block, classes };
  });
}

/** Blocks of the whole year first, then those that take up most of a subject's teachers: the rest fits in between. */
function inTimetablingOrder(teachers: readonly StaffMember[]): Block[] {
  const demand = (block: Block): number => Math.max(...block.sets.map((subject) => {
    const able = teachers.filter((teacher) => teacher.subjects.includes(subject)).length;
    return (block.periods * block.sets.filter((set) => set === subject).length) / able;
  }));
  return yearGroups
    .flatMap(blocksOf)
    .sort((one, other) => other.bands.length - one.bands.length || demand(other) - demand(one));
}

/** The ids of those who are to take over from a leaver. */
function successors(staff: readonly StaffMember[]): Set<string> {
  const ids = staff.filter((member) => member.left && member.role === 'teacher').map((leaver) => successorOf(leaver, staff)?.id ?? '');
  return new Set(ids);
}

/** Periods in which the block's pupils are free and its teachers least wanted, on different days where possible. */
function choosePeriods(block: Block, diary: Bookings, teachers: readonly StaffMember[], shuffled: readonly string[]): string[] {
  const chosen: string[] = [];
  const wanted = [...new Set(block.sets)];
  const cost = (slot: string): number => {
    if (chosen.includes(slot)) return 1e9;
    if (block.bands.some((band) => diary.clashes(`${block.year}${band}`, [slot]) > 0)) return 1e6;
    const sameDay = chosen.filter((other) => other.slice(0, 3) === slot.slice(0, 3)).length;
    const shortages = wanted.map((subject) => {
      const able = teachers.filter((teacher) => teacher.subjects.includes(subject));
      const free = able.filter((teacher) => diary.clashes(teacher.id, [...chosen, slot]) === 0).length;
      return Math.max(0, block.sets.filter((set) => set === subject).length - free) * 10 + (able.length - free) / able.length;
    });
    return sameDay * 0.5 + shortages.reduce((sum, shortage) => sum + shortage, 0);
  };
  for (let period = 0; period < block.periods; period += 1) chosen.push(leastBusy(shuffled, cost));
  return periods.filter((slot) => chosen.includes(slot));
}

type Bookings = {
  book(who: string, slots: readonly string[]): void;
  clashes(who: string, slots: readonly string[]): number;
  load(who: string): number;
};

function bookings(): Bookings {
  const booked = new Map<string, Set<string>>();
  const of = (who: string): Set<string> => booked.get(who) ?? new Set();
  return {
    book: (who, slots) => void booked.set(who, new Set([...of(who), ...slots])),
    clashes: (who, slots) => slots.filter((slot) => of(who).has(slot)).length,
    load: (who) => of(who).size,
  };
}

/** The first candidate of least cost. */
function leastBusy<T>(candidates: readonly T[], cost: (candidate: T) => number): T {
  let best = elementAt(candidates, 0);
  let bestCost = Infinity;
  for (const candidate of candidates) {
    const candidateCost = cost(candidate);
    if (candidateCost < bestCost) {
      best = candidate;
      bestCost = candidateCost;
    }
  }
  return best;
}

function classId(title: string): string {
  return stableId(`cls-27-${title.toLowerCase().replace('/', '-')}`, title).slice(0, -5);
}
