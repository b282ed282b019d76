// Random filters, sorts and pages over the demo school, through HTTP: the answer must be what a plain evaluation over
// the whole list, written from the contract alone, gives. Each dialect that takes them all is asked its share.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { csvPackage, type Rows } from '../../test/csv-package.ts';
import { asking, byName, type TestedDialect } from '../../test/dialects.ts';
import { useService, type Client } from '../../test/service.ts';
import { demoPackage } from '../collection/connectors/demo/demo-package.ts';
import { demoSchool } from '../collection/connectors/demo/school.ts';

const estab = '9990001';
const seed = 20_260_901;

// ---- What there is to filter by -----------------------------------------------------------------------------------

type Kind = 'exact' | 'text' | 'time' | 'exactList' | 'textList';
type Field = { name: string; kind: Kind };

const of = (kind: Kind, ...names: string[]): Field[] => names.map((name) => ({ name, kind }));
const reference = (...names: string[]) => names.flatMap((name) => [...of('exact', `${name}.sourcedId`), ...of('text', `${name}.type`, `${name}.href`)]);
const references = (...names: string[]) =>
  names.flatMap((name) => [...of('exactList', `${name}.sourcedId`), ...of('textList', `${name}.type`, `${name}.href`)]);
const base = [...of('exact', 'sourcedId'), ...of('text', 'status', 'metadata.none', 'metadata.very-own.key'), ...of('time', 'dateLastModified')];
const flags = [
  'americanIndianOrAlaskaNative', 'asian', 'blackOrAfricanAmerican', 'nativeHawaiianOrOtherPacificIslander', 'white',
  'demographicRaceTwoOrMoreRaces', 'hispanicOrLatinoEthnicity',
];

const ofUsers: Partial<Record<TestedDialect['name'], readonly Field[]>> = {
  B: [...of('text', 'role'), ...of('exactList', 'orgSourcedIds'), ...references('orgs')],
  '1.2': [
    ...of('text', 'preferredFirstName'), ...of('textList', 'roles.role', 'roles.roleType', 'roles.beginDate'),
    ...references('roles.org'), ...reference('primaryOrg'),
  ],
};

const fields = {
  orgs: [...base, ...of('text', 'name', 'type', 'identifier'), ...reference('parent'), ...references('children')],
  academicSessions: [
    ...base, ...of('text', 'title', 'type', 'schoolYear'), ...of('time', 'startDate', 'endDate'), ...reference('parent'), ...references('children'),
  ],
  courses: [...base, ...of('text', 'title', 'courseCode'), ...of('textList', 'grades', 'subjects', 'subjectCodes'), ...reference('schoolYear', 'org')],
  classes: [
    ...base, ...of('text', 'title', 'classCode', 'classType', 'location'), ...of('textList', 'grades', 'subjects', 'subjectCodes', 'periods'),
    ...reference('course', 'school'), ...references('terms'),
  ],
  users: [
    ...base,
    ...of(
      'text', 'username', 'enabledUser', 'givenName', 'familyName', 'middleName', 'identifier', 'email', 'sms', 'phone', 'metadata.house',
      'metadata.tutorGroup',
    ),
    ...of('textList', 'grades', 'userIds.type', 'userIds.identifier'),
    ...references('agents'),
  ],
  enrollments: [...base, ...of('text', 'role', 'primary'), ...of('time', 'beginDate', 'endDate'), ...reference('user', 'class', 'school')],
  demographics: [
    ...base,
    ...of('time', 'birthDate'),
    ...of('text', 'sex', ...flags, 'countryOfBirthCode', 'stateOfBirthAbbreviation', 'cityOfBirth', 'publicSchoolResidenceStatus'),
  ],
} as const satisfies Record<string, readonly Field[]>;
type Collection = keyof typeof fields;
const fieldsOf = ({ name }: TestedDialect, collection: Collection): readonly Field[] =>
  collection === 'users' ? [...fields.users, ...(ofUsers[name] ?? [])] : fields[collection];

// ---- The plain evaluation -----------------------------------------------------------------------------------------

type Roster = Record<string, unknown> & { sourcedId: string };
type Condition = Field & { operator: string; value: string };

function valueOf(record: Readonly<Record<string, unknown>>, name: string): string | string[] | undefined {
  if (name.startsWith('metadata.')) return (record.metadata as Record<string, string> | undefined)?.[name.slice('metadata.'.length)];
  const [head = '', ...rest] = name.split('.');
  const value = record[head];
  if (rest.length === 0 || value === undefined) return value as string | string[] | undefined;
  if (!Array.isArray(value)) return valueOf(value as Roster, rest.join('.'));
  const found = (value as Roster[]).flatMap((item) => valueOf(item, rest.join('.')) ?? []);
  return found.length > 0 ? found : undefined;
}

/** Code point order, which for characters beyond the BMP is not that of JavaScript's own comparison. */
function compareText(a: string, b: string): number {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at += 1;
  if (at >= a.length || at >= b.length) return a.length - b.length;
  const weight = (unit: number) => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10_000 : unit);
  return weight(a.charCodeAt(at)) - weight(b.charCodeAt(at));
}

function holds(record: Roster, { name, kind, operator, value }: Condition): boolean {
  const found = valueOf(record, name);
  if (found === undefined) return operator === '!=';
  if (Array.isArray(found)) {
    const fold = (text: string) => (kind === 'exactList' ? text : text.toLowerCase());
    const [held, asked] = [new Set(found.map(fold)), value.split(',').map((item) => fold(item.trim())).filter(Boolean)];
    return operator === '~' ? asked.some((item) => held.has(item)) : asked.every((item) => held.has(item)) === (operator === '=');
  }
  if (operator === '~') return kind === 'exact' ? found.includes(value) : found.toLowerCase().includes(value.toLowerCase());
  const order =
    kind === 'time'
      ? Date.parse(found) - Date.parse(value)
      : kind === 'exact'
        ? compareText(found, value)
        : compareText(found.toLowerCase(), value.toLowerCase());
  return { '=': order === 0, '!=': order !== 0, '>': order > 0, '>=': order >= 0, '<': order < 0, '<=': order <= 0 }[operator] ?? false;
}

function sorted(records: Roster[], name: string, descending: boolean): Roster[] {
  const keyed = records.map((record) => ({ record, key: valueOf(record, name) }));
  const compareKeys = (a: string | string[], b: string | string[]): number => {
    if (!Array.isArray(a) || !Array.isArray(b)) return compareText(String(a), String(b));
    for (let at = 0; at < Math.min(a.length, b.length); at += 1) {
      const order = compareText(a[at] ?? '', b[at] ?? '');
      if (order !== 0) return order;
    }
    return a.length - b.length;
  };
  return keyed.toSorted((a, b) => {
    const bySourcedId = compareText(a.record.sourcedId, b.record.sourcedId);
    if (a.key === undefined || b.key === undefined) return Number(a.key === undefined) - Number(b.key === undefined) || bySourcedId;
    return (descending ? -1 : 1) * compareKeys(a.key, b.key) || bySourcedId;
  }).map(({ record }) => record);
}

// ---- The school ---------------------------------------------------------------------------------------------------

const service = await useService();
await service.addSchool(estab, demoPackage());

/** Every so manieth row of a file, changed. */
function changedRows(file: string, every: number, change: (row: Record<string, string>, at: number) => Record<string, string>): Rows {
  const { header, rows } = demoSchool().find((one) => one.name === file) ?? assert.fail(file);
  return rows.filter((_, at) => at % every === 3).map((cells, at) => {
    const row = Object.fromEntries(header.map((name, column) => [name, cells[column] ?? '']));
    return { ...row, status: at % 9 === 0 ? 'tobedeleted' : 'active', dateLastModified: '2026-10-01T00:00:00Z', ...change(row, at) };
  });
}

const oddNames = [
  "O'Hara-D’Arcy", 'Émilie', 'ÉCLAIR', 'İpek', 'Straße', 'ΟΔΥΣΣΕΥΣ', 'ς σ Σ', '𐐀𐐨', 'Ａｌ', '100% _sure_\\', '"double"', 'and or and', "'quoted'",
  'Ǆungla', 'a=b', '😀 smile', 'K\u212A', 'e\u0301t\u00e9',
];
const odd = (at: number) => oddNames[at % oddNames.length] ?? '';
await service.load(
  estab,
  csvPackage(
    {
      users: changedRows('users.csv', 41, (_, at) => ({ familyName: odd(at), middleName: odd(at + 7), 'metadata.very-own.key': odd(at + 3) })),
      orgs: changedRows('orgs.csv', 5, (_, at) => ({ name: odd(at), 'metadata.very-own.key': odd(at) })),
    },
    { mode: 'delta' },
  ),
);
await service.load(
  estab,
  csvPackage(
    {
      courses: changedRows('courses.csv', 11, (_, at) => ({ title: odd(at), subjects: `Art & Design,${odd(at)}`.replaceAll('"', '') })),
      classes: changedRows('classes.csv', 17, (_, at) => ({ location: odd(at), grades: '07,08,13' })),
      enrollments: changedRows('enrollments.csv', 37, ({ endDate = '' }, at) =>
        at % 2 ? { endDate: '', beginDate: '2026-10-05', primary: '' } : { endDate, beginDate: '', primary: 'true' },
      ),
      demographics: changedRows('demographics.csv', 13, (_, at) => ({ cityOfBirth: odd(at), asian: 'true', white: 'false' })),
      academicSessions: changedRows('academicSessions.csv', 4, () => ({ endDate: '2027-08-31' })),
    },
    { mode: 'delta' },
  ),
);

const wholeLists = new Map<string, Promise<Roster[]>>();
type Asker = Readonly<{ client: Client; dialect: TestedDialect }>;
async function wholeList({ client, dialect }: Asker, path: string): Promise<Roster[]> {
  const key = `${dialect.name} ${client.rp} ${path}`;
  const list = wholeLists.get(key) ?? dialect.read(client, estab, path).then(async (response) => {
    assert.equal(response.status, 200, key);
    return Object.values((await response.json()) as Record<string, Roster[]>)[0] ?? [];
  });
  wholeLists.set(key, list);
  return list;
}

// ---- Random questions ---------------------------------------------------------------------------------------------

type Question = {
  path: string;
  conditions: (Condition & { joiner: string })[];
  sort: string | undefined;
  orderBy: string | undefined;
  limit: number | undefined;
  offset: number | undefined;
};

const day = 86_400_000;
type Change = (text: string, at: number) => string;
const changeText: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom<Change>(
      (text) => text, (text) => text.toUpperCase(), (text) => text.toLowerCase(),
      (text, at) => [...text].map((one, index) => ((at >> (index % 16)) % 2 ? one.toUpperCase() : one.toLowerCase())).join(''),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Change>(
      (text, at) => text.slice(0, 1 + (at % text.length)),
      (text, at) => text.slice(at % text.length),
      (text, at) => text.slice(at % 3, (at % 3) + 2),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Change>(
      (text) => `${text}x`, (text) => ` ${text}`, (text) => text.slice(0, -1), (text) => text.replace(/[aeiou]/, 'é'), (text) => `${text}'`,
      () => "''", () => '', (_, at) => odd(at),
    ),
  },
);
const changeTime = fc.constantFrom<Change>(
  (text) => text, (text) => text.slice(0, 10), (text) => new Date(Date.parse(text)).toISOString(),
  (text) => new Date(Date.parse(text) + 1).toISOString(), (text) => new Date(Date.parse(text) - 1).toISOString(),
  (text) => new Date(Date.parse(text) + day).toISOString().slice(0, 10), (text) => new Date(Date.parse(text) - day).toISOString().slice(0, 10),
  (text) => new Date(Date.parse(text) + day / 24).toISOString().replace('Z', '+01:00'),
  (text) => new Date(Date.parse(text) - 4.5 * (day / 24)).toISOString().replace('Z', '-04:30'),
  (_, at) => `20${10 + (at % 30)}-0${1 + (at % 9)}-1${at % 10}`,
);
const whole = fc.nat({ max: 0xffff });
const number = (text: string, list: readonly string[]) => list[text.length % list.length] ?? '';

type List = { path: string; fields: readonly Field[]; records: Roster[]; held: ReadonlyMap<string, (string | string[])[]> };

async function readList(asker: Asker, path: string, collection: Collection): Promise<List> {
  const records = await wholeList(asker, path);
  const own = fieldsOf(asker.dialect, collection);
  return {
    path,
    fields: own,
    records,
    held: new Map(
      own.map(({ name }) => [
        name,
        records.flatMap((record) => {
          const value = valueOf(record, name);
          return value === undefined ? [] : [value];
        }),
      ]),
    ),
  };
}

function conditionOf({ fields: all, held }: List) {
  const present = all.filter(({ name }) => held.get(name)?.length);
  const field = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...present) },
    { weight: 2, arbitrary: fc.constantFrom(...present.filter(({ kind }) => kind === 'time')) },
    { weight: 1, arbitrary: fc.constantFrom(...all) },
  );
  return fc
    .record({
      field, from: whole, at: whole, operator: whole, joiner: fc.constantFrom('and', 'AND', 'And', 'or', 'OR', 'oR'), text: changeText,
      time: changeTime, items: fc.integer({ min: 1, max: 3 }),
    })
    .map(({ field, from, at, operator, joiner, text, time, items }) => {
      const list = field.kind.endsWith('List');
      const operators = list ? ['=', '!=', '~'] : ['=', '!=', '>', '>=', '<', '<=', '~'];
      const chosen = operators[operator % operators.length] ?? '=';
      const values = held.get(field.name) ?? [];
      const drawn = (index: number) => [values[(from * 7 + index) % values.length] ?? 'x'].flat();
      let value: string;
      if (list)
        value = Array.from({ length: items }, (_, index) => drawn(at % 2 ? index : 0))
          .map(
            (items, index) =>
              text(items[(at + index) % items.length] ?? 'x', at)
                .replaceAll(',', '')
                .trim() || 'x',
          )
          .join(',');
      else if (field.kind === 'time' && chosen === '~') value = String(drawn(0)).slice(at % 5, 3 + (at % 20));
      else if (field.kind === 'time') value = time(values.length > 0 ? String(drawn(0)) : '2026-09-01', at);
      else value = text(String(drawn(0)), at);
      return { ...field, operator: chosen, value, joiner };
    });
}

const anyLimit = fc.oneof(fc.constant(undefined), fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 300 }), fc.constantFrom(1000, 1001, 5000, 99_999));
const shortLimit = fc.integer({ min: 1, max: 50 });

function questionsOn(lists: readonly List[], limit: fc.Arbitrary<number | undefined>): fc.Arbitrary<Question> {
  return fc.constantFrom(...lists).chain((list) =>
    fc.record({
      path: fc.constant(list.path),
      conditions: fc.oneof(
        { weight: 1, arbitrary: fc.constant<Question['conditions']>([]) },
        { weight: 9, arbitrary: fc.array(conditionOf(list), { minLength: 1, maxLength: 4 }) },
      ),
      sort: fc.option(
        fc.constantFrom(
          ...list.fields
            .filter(({ name, kind }) => !(kind === 'textList' && name.endsWith('.type') && name !== 'userIds.type'))
            .map(({ name }) => name),
        ),
        { nil: undefined },
      ),
      orderBy: fc.constantFrom('asc', 'desc', undefined),
      limit,
      offset: fc.oneof(fc.constant(undefined), fc.constant(0), fc.nat({ max: 20 }), fc.nat({ max: list.records.length + 3 })),
    }),
  );
}

const render = (conditions: Question['conditions']) =>
  conditions
    .map(
      ({ name, operator, value, joiner }, at) =>
        `${at > 0 ? ` ${joiner} ` : ''}${name}${number(value, ['', ' '])}${operator}${number(name, ['', ' '])}'${value.replaceAll("'", "''")}'`,
    )
    .join('');

async function check(asker: Asker, question: Question): Promise<void> {
  const { path, conditions, sort, orderBy, limit, offset } = question;
  const alternatives: Condition[][] = [[]];
  conditions.forEach((condition, at) => {
    if (at > 0 && condition.joiner.toLowerCase() === 'or') alternatives.push([]);
    alternatives.at(-1)?.push(condition);
  });
  const matching = (await wholeList(asker, path)).filter((record) => alternatives.some((all) => all.every((condition) => holds(record, condition))));
  const expected = (sort ? sorted(matching, sort, orderBy === 'desc') : matching)
    .slice(offset ?? 0, (offset ?? 0) + (limit ?? Infinity))
    .map((record) => record.sourcedId);

  const parameters = Object.entries({
    filter: conditions.length > 0 ? render(conditions) : undefined, sort, orderBy, limit, offset,
    fields: expected.length > 500 ? 'sourcedId' : undefined,
  });
  const query = new URLSearchParams(parameters.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)] as [string, string]])));
  const response = await asker.dialect.read(asker.client, estab, `${path}?${query}`);
  const body = await response.text();
  const asked = `${asker.dialect.name} ${path} ${JSON.stringify(Object.fromEntries(query))}`;
  assert.equal(response.status, 200, `${asked}\n${body}`);
  const [records] = Object.values(JSON.parse(body) as Record<string, Roster[]>);
  assert.deepEqual(records?.map((record) => record.sourcedId), expected, asked);
  assert.equal(response.headers.get('x-total-count'), String(matching.length), `X-Total-Count of ${asked}`);
}

const everything: [path: string, collection: Collection][] = [
  ['/orgs', 'orgs'],
  ['/academicSessions', 'academicSessions'],
  ['/courses', 'courses'],
  ['/classes', 'classes'],
  ['/users', 'users'],
  ['/users', 'users'],
  ['/enrollments', 'enrollments'],
  ['/demographics', 'demographics'],
  ['/schools', 'orgs'],
  ['/students', 'users'],
  ['/teachers', 'users'],
  ['/terms', 'academicSessions'],
  ['/gradingPeriods', 'academicSessions'],
  ['/schools/org-9990001/students', 'users'],
  ['/schools/org-9990001/classes', 'classes'],
  ['/terms/ses-2027-aut/classes', 'classes'],
];
const people: [path: string, collection: Collection][] = [['/users', 'users'], ['/users', 'users'], ['/enrollments', 'enrollments']];

/** Half of the questions in each dialect. */
async function run(client: Client, paths: [path: string, collection: Collection][], numRuns: number, limit: fc.Arbitrary<number | undefined>): Promise<void> {
  for (const [at, dialect] of asking.entries()) {
    const lists = await Promise.all(paths.map(([path, collection]) => readList({ client, dialect }, path, collection)));
    const property = fc.asyncProperty(questionsOn(lists, limit), (question) => check({ client, dialect }, question));
    await fc.assert(property, { seed: seed + at, numRuns: Math.ceil(numRuns / asking.length) });
  }
}

test('the school has several values of dateLastModified and of status', async () => {
  const users = await wholeList({ client: await service.addClient('looker', [estab]), dialect: byName.B }, '/users');
  assert.ok(new Set(users.map((user) => user.dateLastModified)).size >= 2);
  assert.equal(new Set(users.map((user) => user.status)).size, 2);
});

test('everything that can be asked, with every scope', async () => run(await service.addClient('everything', [estab]), everything, 45, anyLimit));

test('with students alone', async () => {
  const client = await service.addClient('students', [estab], 'School,Student,StudentDemographic');
  await run(client, [...people, ['/students', 'users'], ['/demographics', 'demographics']], 12, shortLimit);
});

const families = await service.addClient('families', [estab], 'Contact,Student');
test('with students and contacts', async () => run(families, people, 12, shortLimit));
test('sorted by agents, some of whom the scopes hide', async () => {
  const ways = ['agents.sourcedId', 'agents.href'].flatMap((sort) => ['asc', 'desc'].map((orderBy) => ({ sort, orderBy })));
  for (const [at, way] of ways.entries()) {
    const dialect = asking[(at + Math.floor(at / 2)) % asking.length] ?? assert.fail();
    await check({ client: families, dialect }, { path: '/users', conditions: [], ...way, limit: 200, offset: undefined });
  }
});
