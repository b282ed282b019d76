// In charge of what the demo school teaches: its departments and subjects, and the blocks of sets
// in which each year group is taught over a week of 25 periods.

export type Department = { readonly code: string; readonly name: string; readonly rooms: readonly string[] };

/** How a block shares its pupils out: by form, by attainment, or by what each pupil chose. */
export type Grouping = 'form' | 'attainment' | 'choice';

export type Block = {
  readonly year: number;
  /** The letter in class titles: a half-year band (A, B) or an option column. */
  readonly letter: string;
  /** The half-year bands whose pupils are in the block. */
  readonly bands: readonly string[];
  readonly periods: number;
  readonly grouping: Grouping;
  /** One subject code per set. */
  readonly sets: readonly string[];
};

export const departments: readonly Department[] = [
  department('ENG', 'English', 'E', 12),
  department('MAT', 'Mathematics', 'M', 12),
  department('SCI', 'Science', 'S', 13),
  department('HUM', 'Humanities', 'H', 15),
  department('MFL', 'Modern Foreign Languages', 'L', 10),
  department('ART', 'Creative and Performing Arts', 'A', 11),
  department('CAB', 'Computing and Business', 'C', 9),
  department('DTF', 'Design, Technology and Food', 'T', 8),
  department('PED', 'Physical Education', 'P', 11),
  department('SOC', 'Social Sciences', 'N', 10),
];

/** Subject code to its title and department. */
export const subjects: ReadonlyMap<string, { readonly title: string; readonly department: string }> = new Map(
  [
    'ENG En English|Li English Literature|El English Language and Literature',
    'MAT Ma Mathematics|Fm Further Mathematics',
    'SCI Sc Science|Ts Separate Sciences|Bi Biology|Ch Chemistry|Ph Physics',
    'HUM Hi History|Gg Geography|Re Religious Education|Rs Religious Studies',
    'MFL Fr French|Sp Spanish|Ge German',
    'ART Ar Art and Design|Mu Music|Dr Drama|Md Media Studies',
    'CAB Cp Computing|Bs Business Studies|Ec Economics',
    'DTF Dt Design and Technology|Fd Food Preparation and Nutrition',
    'PED Pe Physical Education|Gp Sports Science',
    'SOC So Sociology|Py Psychology|Hc Health and Social Care|Ps Personal, Social and Health Education|Ep Extended Project',
  ].flatMap((line) =>
    line.slice(4).split('|').map((entry): [string, { title: string; department: string }] => [
      entry.slice(0, 2),
      { title: entry.slice(3), department: line.slice(0, 3) },
    ]),
  ),
);

export const yearGroups: readonly number[] = [7, 8, 9, 10, 11, 12, 13];
export const bands: readonly string[] = ['A', 'B'];

/** Registration groups of a year: eight forms in Years 7 to 11, four in the sixth form. */
export function formLetters(year: number): readonly string[] {
  return year <= 11 ? ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'] : ['A', 'B', 'C', 'D'];
}

/** The first half of a year's forms is band A, the second half band B. */
export function bandOf(year: number, form: string): string {
  const letters = formLetters(year);
  return letters.indexOf(form) < letters.length / 2 ? 'A' : 'B';
}

/** All blocks of a year group; those of the whole year come first because they are hardest to timetable. */
export function blocksOf(year: number): Block[] {
  if (year <= 9) return bands.flatMap((band) => lowerSchool.map((line) => bandBlock(year, band, line)));
  if (year <= 11) {
    return [
      ...columns(year, 3, gcseColumns),
      ...bands.flatMap((band) => gcseCore.map((line) => bandBlock(year, band, line))),
    ];
  }
  return [
    ...columns(year, 4, sixthFormColumns),
    { year, letter: 'U', bands, periods: 1, grouping: 'form', sets: ['Ps', 'Ps', 'Ps', 'Ps'] },
    { year, letter: 'V', bands, periods: 1, grouping: 'form', sets: ['Pe', 'Pe', 'Pe', 'Pe'] },
  ];
}

/** Classes with one set too many in September, dissolved in October. */
export const dissolvedClasses: readonly string[] = ['8B/Ma5', '9A/En5'];

/** The name of a course as its year group knows it. */
export function courseTitle(year: number, code: string): string {
  const title = subjects.get(code)?.title ?? code;
  const ungraded = ['Pe', 'Ps', 'Re'].includes(code);
  if (year <= 9) return `Year ${year} ${title}`;
  if (ungraded) return `Year ${year} Core ${title}`;
  if (code === 'Hc' || code === 'Gp') return `BTEC ${title} (Year ${year})`;
  if (code === 'Ep') return `${title} Qualification (Year ${year})`;
  if (year <= 11) return code === 'Sc' ? `GCSE Combined Science (Year ${year})` : `GCSE ${title} (Year ${year})`;
  return `A level ${title} (Year ${year})`;
}

/** The subject of all four sets or of each; where two subjects alternate, one half of the band has them the other way round. */
type BandLine = readonly [sets: string, periods: number, grouping: Grouping];

const lowerSchool: readonly BandLine[] = [
  ['En', 4, 'attainment'],
  ['Ma', 4, 'attainment'],
  ['Sc', 3, 'attainment'],
  ['Fr Fr Sp Sp', 2, 'form'],
  ['Hi Hi Gg Gg', 2, 'form'],
  ['Gg Gg Hi Hi', 2, 'form'],
  ['Dt Dt Pe Pe', 2, 'form'],
  ['Pe Pe Dt Dt', 2, 'form'],
  ['Ar Ar Mu Mu', 1, 'form'],
  ['Mu Mu Ar Ar', 1, 'form'],
  ['Cp Cp Re Re', 1, 'form'],
  ['Re Re Cp Cp', 1, 'form'],
];

const gcseCore: readonly BandLine[] = [
  ['En', 3, 'attainment'],
  ['Ma', 3, 'attainment'],
  ['Sc', 3, 'attainment'],
  ['Li', 1, 'attainment'],
  ['Pe Pe Re Re', 1, 'form'],
  ['Re Re Pe Pe', 1, 'form'],
  ['Ps', 1, 'form'],
];

const gcseColumns: readonly string[] = [
  'W Hi Gg Fr Sp Ar Cp Bs Gp',
  'X Hi Gg Sp Dr Fd Bs Ts So',
  'Y Hi Gg Fr Mu Dt Md Hc Ts',
  'Z Rs Ar Cp Fd So Ge Bs Gp',
];

const sixthFormColumns: readonly string[] = [
  'W Ma El Bi Hi Py Bs',
  'X Ma Ch Gg So Ar Cp Sp',
  'Y Ph Bi Ec Py Rs Gp Md',
  'Z Fm Fr Mu Dr Dt Hc Ep Ep',
];

function columns(year: number, periods: number, lines: readonly string[]): Block[] {
  return lines.map((line) => ({
    year,
    letter: line.charAt(0),
    bands,
    periods,
    grouping: 'choice',
    sets: line.slice(2).split(' '),
  }));
}

/** Four sets per band, one more where one of the dissolved classes was. */
function bandBlock(year: number, band: string, [codes, periods, grouping]: BandLine): Block {
  const listed = codes.split(' ');
  const sets = listed.length > 1 ? listed : [codes, codes, codes, codes];
  if (dissolvedClasses.includes(`${year}${band}/${codes}5`)) sets.push(codes);
  return { year, letter: band, bands: [band], periods, grouping, sets };
}

function department(code: string, name: string, prefix: string, roomCount: number): Department {
  return { code, name, rooms: Array.from({ length: roomCount }, (_, index) => `${prefix}${index + 1}`) };
}
