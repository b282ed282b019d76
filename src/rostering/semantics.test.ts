// What a filter and a sort mean, sentence by sentence, through HTTP on a small school made up for it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addApplication } from '../access/applications.ts';
import { authorise } from '../access/authorisations.ts';
import { addEstablishment } from '../access/establishments.ts';
import { createApp, createPools } from '../app.ts';
import { openCsvSource } from '../collection/connectors/csv/csv-source.ts';
import { importRoster } from '../collection/import.ts';
import { readConfig } from '../config.ts';
import { connect } from '../db/connect.ts';
import { migrate } from '../db/migrate.ts';
import { csvPackage } from '../../test/csv-package.ts';
import { rootB, useService } from '../../test/service.ts';

const estab = 'S1';
const service = await useService();

const person = (sourcedId: string, familyName: string, more: Record<string, string> = {}) => ({
  sourcedId, familyName, enabledUser: 'true', orgSourcedIds: 'School', role: 'student', username: sourcedId, givenName: 'Sam', ...more,
});
const course = (sourcedId: string, title: string, courseCode = '') => ({ sourcedId, title, courseCode, orgSourcedId: 'School' });
const aClass = (sourcedId: string, more: Record<string, string>) => ({
  sourcedId, title: sourcedId, courseSourcedId: 'c1', classType: 'scheduled', schoolSourcedId: 'School', termSourcedIds: 't1', ...more,
});
const enrolment = (sourcedId: string, more: Record<string, string> = {}) => ({
  sourcedId, classSourcedId: 'k1', schoolSourcedId: 'School', userSourcedId: 'p01', role: 'student', ...more,
});

await service.addSchool(
  estab,
  csvPackage({
    orgs: [
      { sourcedId: 'School', name: 'Small School', type: 'school' },
      { sourcedId: 'school', name: 'Other', type: 'department', parentSourcedId: 'School' },
    ],
    academicSessions: ['t1', 't2', 'T1'].map((sourcedId) => ({
      sourcedId, title: sourcedId, type: 'term', startDate: '2026-09-01', endDate: '2026-12-18', schoolYear: '2027',
    })),
    courses: [
      course('c1', 'Zebra', 'K'), course('c2', 'apple', 'K'), course('c3', 'Émile'), course('c4', 'zoo', 'J'), course('c5', '😀 smile'),
      course('c6', 'Ａ wide', 'k'), course('C9', 'Apple', 'K'),
    ],
    classes: [
      aClass('k1', { grades: '07,08', subjects: 'Maths,Art & Design', termSourcedIds: 't1,t2', periods: 'Mon1,Tue2' }),
      aClass('k2', { grades: '08', subjects: 'Art', termSourcedIds: 'T1' }),
      aClass('k3', { subjects: 'MATHS' }),
    ],
    users: [
      person('p01', 'ÉCOLE'), person('p02', 'école'), person('p03', 'İpek'), person('p04', 'i\u0307pek'), person('p05', 'ipek'),
      person('p06', 'Straße'), person('p07', 'STRASSE'), person('p08', 'STRAẞE'), person('p09', 'ΟΔΥΣΣΕΥΣ'), person('p10', 'οδυσσευς'),
      person('p11', 'οδυσσευσ'), person('p12', '𐐀'), person('p13', "O'Brien", { middleName: 'Ann', email: 'Ann@School.Example' }),
      person('p14', '100% _sure_ \\'),
      person('Ab', 'Upper', { role: 'teacher', enabledUser: 'false', userIds: '{LDAP:aB},{Fed:x@y}', 'metadata.House': 'Blue', 'metadata.a.b-c': 'Dotted' }),
      person('aB', 'Lower', { role: 'parent', agentSourcedIds: 'p01,p02', userIds: '{ldap:other}', 'metadata.House': 'red' }),
    ],
    enrollments: [
      enrolment('e1', { primary: 'true', beginDate: '2026-09-01', endDate: '2026-12-18' }),
      enrolment('e2', { primary: 'false', beginDate: '2026-09-02', classSourcedId: 'k2', userSourcedId: 'p02' }),
      enrolment('e3', { classSourcedId: 'k3', userSourcedId: 'Ab', role: 'teacher' }),
    ],
    demographics: [
      { sourcedId: 'p01', birthDate: '2014-02-28', sex: 'female', asian: 'true' },
      { sourcedId: 'p02', sex: 'male', cityOfBirth: 'İzmir' },
      { sourcedId: 'p03' },
    ],
  }),
);
await service.load(
  estab,
  csvPackage(
    {
      enrollments: [
        {
          ...enrolment('e2', { primary: 'false', beginDate: '2026-09-02', classSourcedId: 'k2', userSourcedId: 'p02' }),
          status: 'tobedeleted',
          dateLastModified: '2026-10-01',
        },
      ],
    },
    { mode: 'delta' },
  ),
);
const client = await service.addClient('app', [estab]);

async function ask(path: string, query: Record<string, string>): Promise<Response> {
  return client.b(estab, `${path}?${new URLSearchParams(query)}`);
}

async function idsOf(path: string, query: Record<string, string>): Promise<string[]> {
  const response = await ask(path, query);
  const text = await response.text();
  assert.equal(response.status, 200, `${path} ${JSON.stringify(query)}: ${text}`);
  const [records] = Object.values(JSON.parse(text) as Record<string, { sourcedId: string }[]>);
  const ids = (records ?? []).map((record) => record.sourcedId);
  assert.equal(response.headers.get('x-total-count'), String(ids.length), `X-Total-Count of ${path} ${JSON.stringify(query)}`);
  return ids;
}

const everyone = ['Ab', 'aB', 'p01', 'p02', 'p03', 'p04', 'p05', 'p06', 'p07', 'p08', 'p09', 'p10', 'p11', 'p12', 'p13', 'p14'];
const but = (...ids: string[]) => everyone.filter((id) => !ids.includes(id));

const filters: Record<string, [path: string, filter: string, ids: string[]][]> = {
  'sourcedId compares exactly': [
    ['/users', "sourcedId='Ab'", ['Ab']],
    ['/users', "sourcedId='ab'", []],
    ['/users', "sourcedId!='Ab'", but('Ab')],
    ['/users', "sourcedId~'B'", ['aB']],
    ['/users', "sourcedId<'a'", ['Ab']],
    ['/users', "sourcedId<='aB'", ['Ab', 'aB']],
    ['/users', "sourcedId>'p13'", ['p14']],
    ['/enrollments', "user.sourcedId='Ab'", ['e3']],
    ['/enrollments', "user.sourcedId='ab'", []],
    ['/enrollments', "class.sourcedId>='k2'", ['e2', 'e3']],
    ['/orgs', "parent.sourcedId='School'", ['school']],
    ['/orgs', "children.sourcedId='school'", ['School']],
    ['/orgs', "children.sourcedId='School'", []],
    ['/users', "orgSourcedIds='School'", everyone],
    ['/users', "orgSourcedIds='school'", []],
    ['/classes', "terms.sourcedId~'T1'", ['k2']],
  ],
  'other text compares by its lower-cased value': [
    ['/users', "familyName='école'", ['p01', 'p02']],
    ['/users', "familyName='École'", ['p01', 'p02']],
    ['/users', "familyName='Ecole'", []],
    ['/users', "familyName!='ÉCOLE'", but('p01', 'p02')],
    ['/users', "familyName='İPEK'", ['p03', 'p04']],
    ['/users', "familyName='i\u0307PEK'", ['p03', 'p04']],
    ['/users', "familyName='IPEK'", ['p05']],
    ['/users', "familyName='straße'", ['p06', 'p08']],
    ['/users', "familyName='strasse'", ['p07']],
    ['/users', "familyName='Οδυσσευς'", ['p09', 'p10']],
    ['/users', "familyName='ΟΔΥΣΣΕΥΣ'", ['p09', 'p10']],
    ['/users', "familyName='οδυσσευσ'", ['p11']],
    ['/users', "familyName='𐐨'", ['p12']],
    ['/users', "familyName='o''BRIEN'", ['p13']],
    ['/users', "email='ann@school.example'", ['p13']],
    ['/demographics', "cityOfBirth='i\u0307ZMIR'", ['p02']],
    ['/enrollments', `class.href='${service.url.toUpperCase()}${rootB}/classes/K1'`, ['e1']],
    ['/enrollments', "class.type='CLASS' and user.type='User' and school.type!='orgs'", ['e1', 'e2', 'e3']],
  ],
  'text is ordered by code point of its lower-cased value': [
    ['/courses', "title<'b'", ['C9', 'c2']],
    ['/courses', "title<='APPLE'", ['C9', 'c2']],
    ['/courses', "title>'y'", ['c1', 'c3', 'c4', 'c5', 'c6']],
    ['/courses', "title>='ZEBRA'", ['c1', 'c3', 'c4', 'c5', 'c6']],
    ['/courses', "title>'zzz'", ['c3', 'c5', 'c6']],
    ['/courses', "title>='Ａ'", ['c5', 'c6']],
    ['/courses', "title>'\uffef'", ['c5']],
  ],
  '~ on text means contains': [
    ['/users', "familyName~'COL'", ['p01', 'p02']],
    ['/users', "familyName~'ipe'", ['p05']],
    ['/users', "familyName~'ß'", ['p06', 'p08']],
    ['/users', "familyName~''''", ['p13']],
    ['/users', "familyName~'%'", ['p14']],
    ['/users', "familyName~'_'", ['p14']],
    ['/users', "familyName~'\\'", ['p14']],
    ['/users', "familyName~'.*'", []],
    ['/users', "middleName~''", ['p13']],
    ['/courses', "title~'App'", ['C9', 'c2']],
  ],
  'enumerations compare like text': [
    ['/users', "role='TEACHER'", ['Ab']],
    ['/users', "role!='Student'", ['Ab', 'aB']],
    ['/users', "role~'each'", ['Ab']],
    ['/users', "role='pupil'", []],
    ['/users', "role>'student'", ['Ab']],
    ['/enrollments', "status='ACTIVE'", ['e1', 'e3']],
    ['/enrollments', "status='tobedeleted'", ['e2']],
    ['/enrollments', "status!='active'", ['e2']],
    ['/enrollments', "status='nonsense'", []],
    ['/demographics', "sex='MALE'", ['p02']],
    ['/demographics', "sex~'male'", ['p01', 'p02']],
    ['/academicSessions', "schoolYear>='2027' and schoolYear<'2028'", ['T1', 't1', 't2']],
  ],
  'booleans are the texts true and false': [
    ['/users', "enabledUser='false'", ['Ab']],
    ['/users', "enabledUser='FALSE'", ['Ab']],
    ['/users', "enabledUser!='True'", ['Ab']],
    ['/users', "enabledUser='0'", []],
    ['/enrollments', "primary='true'", ['e1']],
    ['/enrollments', "primary!='true'", ['e2', 'e3']],
    ['/enrollments', "primary~'al'", ['e2']],
    ['/enrollments', "primary>'false'", ['e1']],
    ['/demographics', "asian='true'", ['p01']],
  ],
  'dates compare in time, a date being midnight UTC': [
    ['/enrollments', "beginDate='2026-09-01'", ['e1']],
    ['/enrollments', "beginDate='2026-09-01T00:00:00Z'", ['e1']],
    ['/enrollments', "beginDate='2026-09-01T01:00:00+01:00'", ['e1']],
    ['/enrollments', "beginDate='2026-08-31T19:00:00.000-05:00'", ['e1']],
    ['/enrollments', "beginDate='2026-09-01T00:00:00+01:00'", []],
    ['/enrollments', "beginDate='2026-09-01T00:00:00.001Z'", []],
    ['/enrollments', "beginDate>'2026-09-01'", ['e2']],
    ['/enrollments', "beginDate>'2026-08-31T23:59:59.999Z'", ['e1', 'e2']],
    ['/enrollments', "beginDate>='2026-09-01T00:00:00.0004Z'", ['e2']],
    ['/enrollments', "beginDate>='2026-09-01T00:30:00+01:00'", ['e1', 'e2']],
    ['/enrollments', "beginDate<'2026-09-02'", ['e1']],
    ['/enrollments', "beginDate<='2026-09-02T00:00:00Z'", ['e1', 'e2']],
    ['/enrollments', "beginDate!='2026-09-01T00:00:00Z'", ['e2', 'e3']],
    ['/demographics', "birthDate<'2014-03-01'", ['p01']],
    ['/academicSessions', "startDate='2026-09-01' and endDate>'2026-12-17T23:00:00-01:00'", []],
    ['/academicSessions', "startDate='2026-09-01' and endDate>='2026-12-17T23:00:00-01:00'", ['T1', 't1', 't2']],
  ],
  'on lists = means all, ~ any, != not all': [
    ['/classes', "grades='08'", ['k1', 'k2']],
    ['/classes', "grades='07,08'", ['k1']],
    ['/classes', "grades='08,07'", ['k1']],
    ['/classes', "grades='08,08'", ['k1', 'k2']],
    ['/classes', "grades='07,09'", []],
    ['/classes', "grades~'07,09'", ['k1']],
    ['/classes', "grades~'09,08'", ['k1', 'k2']],
    ['/classes', "grades~'9'", []],
    ['/classes', "grades!='08'", ['k3']],
    ['/classes', "grades!='07,08'", ['k2', 'k3']],
    ['/classes', "subjects='MATHS'", ['k1', 'k3']],
    ['/classes', "subjects~'art'", ['k2']],
    ['/classes', "subjects='maths,ART & design'", ['k1']],
    ['/classes', "terms.sourcedId='t1,t2'", ['k1']],
    ['/classes', "terms.sourcedId!='t1'", ['k2']],
    ['/classes', "terms.type='ACADEMICSESSION'", ['k1', 'k2', 'k3']],
    ['/classes', `terms.href~'${service.url}${rootB}/academicSessions/t2'`, ['k1']],
    ['/users', "userIds.type='LDAP'", ['Ab', 'aB']],
    ['/users', "userIds.type='fed,ldap'", ['Ab']],
    ['/users', "userIds.identifier~'AB,nothing'", ['Ab']],
    ['/users', "userIds.type!='fed'", but('Ab')],
    ['/users', "agents.sourcedId='p01,p02'", ['aB']],
  ],
  'metadata by its key, which is exact': [
    ['/users', "metadata.House='BLUE'", ['Ab']],
    ['/users', "metadata.house='BLUE'", []],
    ['/users', "metadata.a.b-c~'otte'", ['Ab']],
    ['/users', "metadata.House!='blue'", but('Ab')],
    ['/users', "metadata.nothing!='x' and metadata.House>'b'", ['Ab', 'aB']],
  ],
  'and binds tighter than or': [
    ['/users', "role='teacher' or role='parent' and enabledUser='false'", ['Ab']],
    ['/users', "enabledUser='false' and role='parent' OR familyName='𐐨' Or sourcedId='p14'", ['p12', 'p14']],
  ],
};

for (const [name, cases] of Object.entries(filters)) {
  test(name, async () => {
    for (const [path, filter, ids] of cases) assert.deepEqual(await idsOf(path, { filter }), ids, `${path} ${filter}`);
  });
}

test('a missing field matches no comparison but !=', async () => {
  const missing: [path: string, field: string, value: string, without: string[]][] = [
    ['/enrollments', 'endDate', '2026-12-18', ['e2', 'e3']],
    ['/enrollments', 'primary', 'true', ['e3']],
    ['/users', 'middleName', 'Ann', but('p13')],
    ['/users', 'metadata.House', 'Blue', but('Ab', 'aB')],
    ['/users', 'metadata.nowhere', 'x', everyone],
    ['/orgs', 'parent.sourcedId', 'School', ['School']],
    ['/orgs', 'parent.href', 'x', ['School']],
    ['/orgs', 'parent.type', 'org', ['School']],
    ['/demographics', 'birthDate', '2014-02-28', ['p02', 'p03']],
    ['/classes', 'grades', '08', ['k3']],
    ['/classes', 'subjectCodes', 'x', ['k1', 'k2', 'k3']],
    ['/users', 'userIds.type', 'LDAP', but('Ab', 'aB')],
    ['/users', 'agents.sourcedId', 'p01', but('aB')],
  ];
  const lists = ['grades', 'subjectCodes', 'userIds.type', 'agents.sourcedId'];
  for (const [path, field, value, without] of missing) {
    for (const operator of lists.includes(field) ? ['=', '~'] : ['=', '>', '>=', '<', '<=', '~']) {
      const found = await idsOf(path, { filter: `${field}${operator}'${value}'` });
      assert.deepEqual(found.filter((id) => without.includes(id)), [], `${path} ${field} ${operator}`);
    }
    const found = await idsOf(path, { filter: `${field}!='${value}'` });
    assert.deepEqual(found.filter((id) => without.includes(id)), without, `${path} ${field} !=`);
  }
});

test('dateLastModified compares in time', async () => {
  const { enrollments } = (await (await ask('/enrollments', {})).json()) as { enrollments: { sourcedId: string; dateLastModified: string }[] };
  const [first, second] = ['e1', 'e2'].map((id) => enrollments.find((one) => one.sourcedId === id)?.dateLastModified ?? '');
  assert.ok(first && second && first < second);
  const inParis = (stamp: string) => new Date(Date.parse(stamp) + 2 * 3_600_000).toISOString().replace('Z', '+02:00');
  for (const write of [(stamp: string) => stamp, inParis, (stamp: string) => stamp.replace('Z', ''), (stamp: string) => stamp.toLowerCase()]) {
    const cases = { '=': ['e1', 'e3'], '!=': ['e2'], '>': ['e2'], '>=': ['e1', 'e2', 'e3'], '<': [], '<=': ['e1', 'e3'] };
    for (const [operator, ids] of Object.entries(cases))
      assert.deepEqual(await idsOf('/enrollments', { filter: `dateLastModified${operator}'${write(first)}'` }), ids, `${operator} ${write(first)}`);
  }
  assert.deepEqual(await idsOf('/enrollments', { filter: `dateLastModified>'${first}' and dateLastModified<='${second}'` }), ['e2']);
  assert.deepEqual(await idsOf('/enrollments', { filter: `dateLastModified>'${first.slice(0, -1)}4Z'` }), ['e2'], 'finer than a millisecond');
  assert.deepEqual(await idsOf('/enrollments', { filter: "dateLastModified<'2001-01-01' or dateLastModified>'2999-12-31'" }), []);
  assert.deepEqual(await idsOf('/enrollments', { sort: 'dateLastModified', orderBy: 'desc' }), ['e2', 'e1', 'e3']);
});

test('what does not apply is refused and named', async () => {
  const refused: [path: string, filter: string, named: RegExp][] = [
    ['/classes', "grades>'07'", /"grades" at position 1/],
    ['/users', "role='x' and orgSourcedIds<='y'", /"orgSourcedIds" at position 14/],
    ['/enrollments', "beginDate>'soon'", /"beginDate" at position 1.*"soon"/],
    ['/enrollments', "dateLastModified=''", /"dateLastModified" at position 1/],
    ['/users', "surname='x'", /"surname" at position 1/],
    ['/users', "FamilyName='x'", /"FamilyName" at position 1/],
    ['/enrollments', "status='active' and class.title='x'", /"class.title" at position 21/],
    ['/users', "metadata='x'", /"metadata" at position 1/],
    ['/users', "password='x'", /"password" at position 1/],
  ];
  for (const [path, filter, named] of refused) {
    const response = await ask(path, { filter });
    const { statusInfoSet } = (await response.json()) as { statusInfoSet: { imsx_codeMinor: string; imsx_description: string }[] };
    assert.equal(response.status, 400, filter);
    assert.equal(statusInfoSet[0]?.imsx_codeMinor, 'invalid_filter_field');
    assert.match(statusInfoSet[0]?.imsx_description ?? '', named);
  }
});

const sorts: [what: string, path: string, sort: string, ascending: string[], descending: string[]][] = [
  [
    'by code point: capitals first, what is beyond the BMP last',
    '/courses',
    'title',
    ['C9', 'c1', 'c2', 'c4', 'c3', 'c6', 'c5'],
    ['c5', 'c6', 'c3', 'c4', 'c2', 'c1', 'C9'],
  ],
  [
    'ties by sourcedId and what is missing last, either way',
    '/courses',
    'courseCode',
    ['c4', 'C9', 'c1', 'c2', 'c6', 'c3', 'c5'],
    ['c6', 'C9', 'c1', 'c2', 'c4', 'c3', 'c5'],
  ],
  ['dates', '/enrollments', 'beginDate', ['e1', 'e2', 'e3'], ['e2', 'e1', 'e3']],
  ['booleans', '/enrollments', 'primary', ['e2', 'e1', 'e3'], ['e1', 'e2', 'e3']],
  ['the reference', '/enrollments', 'user.sourcedId', ['e3', 'e1', 'e2'], ['e2', 'e1', 'e3']],
  ['the sourcedId itself', '/academicSessions', 'sourcedId', ['T1', 't1', 't2'], ['t2', 't1', 'T1']],
  ['metadata', '/users', 'metadata.House', ['Ab', 'aB', ...but('Ab', 'aB')], ['aB', 'Ab', ...but('Ab', 'aB')]],
  ['all equal', '/users', 'givenName', everyone, everyone],
];

for (const [what, path, sort, ascending, descending] of sorts) {
  test(`sorted: ${what}`, async () => {
    assert.deepEqual(await idsOf(path, { sort }), ascending);
    assert.deepEqual(await idsOf(path, { sort, orderBy: 'asc' }), ascending);
    assert.deepEqual(await idsOf(path, { sort, orderBy: 'desc' }), descending);
  });
}

test('sorted by code point also where the database has an order of its own', async () => {
  const name = `${new URL(service.databaseUrl).pathname.slice(1)}_icu`;
  await service.db.unsafe(`create database ${name} template template0 locale_provider icu icu_locale 'en-GB'`);
  const db = connect(service.databaseUrl.replace(/[^/]*$/, name), { max: 4, name: 'test' });
  const config = readConfig({ DATABASE_URL: 'postgres://elsewhere/x', SECRET_KEY: 'a key for tests that is long enough', LOG_LEVEL: 'silent' });
  const app = createApp({ config, pools: createPools(() => db), seal: service.seal });
  try {
    await migrate(db);
    await addEstablishment(db, { estab, name: 'Small School', email: 'office@s1.example' });
    const orgs = ['b', 'A', 'é', 'a', 'Z'].map((mark, at) => ({
      sourcedId: `o${at}-${mark}`, name: mark, type: 'school', identifier: mark, 'metadata.mark': mark,
    }));
    const options = { estab, dataDir: service.dataDir, partial: false, force: false, shrinkLimitPercent: 20 };
    await importRoster(db, () => openCsvSource(csvPackage({ orgs })), options);
    await addApplication(db, service.seal, { rp: 'app', name: 'App', callbackUrl: 'http://127.0.0.1:9/', scopes: 'School', redirectUris: [] });
    const { schoolSecret } = await authorise(db, { rp: 'app', estab });
    const { access_token: token } = (
      await app.inject({
        method: 'POST',
        url: `${rootB}/auth/token`,
        headers: { authorization: `Basic ${Buffer.from(`app|${estab}:${schoolSecret}`).toString('base64')}` },
      })
    ).json<{ access_token: string }>();
    for (const sort of ['name', 'identifier', 'metadata.mark']) {
      const { orgs: sorted } = (await app.inject({ url: `${rootB}/orgs?sort=${sort}`, headers: { authorization: `Bearer ${token}` } })).json<{
        orgs: { name: string }[];
      }>();
      assert.equal(sorted.map((org) => org.name).join(''), 'AZabé', sort);
    }
  } finally {
    await app.close();
    await db.end({ timeout: 5 });
    await service.db.unsafe(`drop database ${name} with (force)`);
  }
});
