// Covers the data endpoints through HTTP: every endpoint's rows with exactly their fields, what scopes hide, the
// envelope, pages, and what updatedSince gives as things change.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attendanceCsv, deltaPackage, enrolment, schoolClass, smallPackage, smallSchool, user, type SchoolFiles } from '../../test/small-school.ts';
import { useService, type Client } from '../../test/service.ts';

type Row = Record<string, unknown>;
type Envelope = Record<string, Row[]> & { Message: string | null; ExceptionMessage: string | null };

const service = await useService({}, { now: () => Date.parse('2026-11-13T12:00:00Z') });
const { db } = service;
const marks = attendanceCsv('p1,2026-11-12,AM,/,,', 'p1,2026-11-12,PM,L,12,bus', 'p2,2026-11-12,AM,I,,', 'p2,2026-11-13,AM,/,,', 'p3,2026-11-13,AM,,,');
let schools = 0;

async function newSchool(
  files: Partial<SchoolFiles> = {},
  scopes?: string,
): Promise<{ estab: string; client: Client; get: (path: string) => Promise<Envelope> }> {
  const estab = `S${(schools += 1)}`;
  const report = await service.addSchool(estab, smallPackage(files, { raw: { 'attendance.csv': marks } }));
  assert.equal(report?.outcome, 'done', JSON.stringify(report?.problems));
  const client = await service.addClient(`app${schools}`, [estab], scopes);
  return { estab, client, get: getter(client, estab) };
}

function getter(client: Client, estab: string) {
  return async (path: string): Promise<Envelope> => {
    const response = await client.s(estab, path);
    assert.equal(response.status, 200, `${path}: ${await response.clone().text()}`);
    return (await response.json()) as Envelope;
  };
}

const ids = (rows: Row[] | undefined) => rows?.map((row) => row.Id);
const byId = async (get: (path: string) => Promise<Envelope>, name: string, id: string, query = '') =>
  (await get(`${name}${query}`))[name]?.find((row) => row.Id === id);

/** Rows without LastUpdated, which has to be an instant. */
function timeless(rows: Row[] | undefined): Row[] {
  return (rows ?? []).map(({ LastUpdated, ...row }) => {
    assert.match(String(LastUpdated), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    return row;
  });
}

const whole = await newSchool();
/** p9 has left, with the enrolment still open. */
await service.load(whole.estab, deltaPackage({ users: [user('p9', 'student', { agentSourcedIds: 'a2' })] }, 'tobedeleted'));

const person = (id: string, more: Row = {}): Row => ({
  Id: id, Forename: `Given ${id}`, MiddleName: null, Surname: 'Family', DisplayName: `Given ${id} Family`, Email: null, ...more,
});
const contact = (id: string, more: Row): Row => ({
  Id: id, Forename: `Given ${id}`, Surname: 'Family', DisplayName: `Given ${id} Family`, Email: null, ...more,
});

test('people: exactly their fields, those who left left out, contacts with their children whichever side noted them', async () => {
  assert.deepEqual(timeless((await whole.get('Students')).Students), [
    person('p1', { MiddleName: 'Middle', Email: 'p1@school.example', YearGroup: '07', RegistrationGroup: '7A' }),
    person('p2', { YearGroup: '08', RegistrationGroup: '7A' }),
    person('p3', { YearGroup: null, RegistrationGroup: null }),
  ]);
  assert.deepEqual(timeless((await whole.get('Staff')).Staff), [person('s1', { Email: 's1@school.example', Role: 'teacher' }), person('s2', { Role: 'aide' })]);
  assert.deepEqual(timeless((await whole.get('Contacts')).Contacts), [
    contact('a1', { Phone: '01234', Role: 'parent', StudentIds: ['p1', 'p2'] }),
    contact('a2', { Email: 'a2@home.example', Phone: '07701', Role: 'guardian', StudentIds: ['p1', 'p2'] }),
  ]);
});

test('groups: registration and teaching, with staff and pupils on roll', async () => {
  assert.deepEqual(timeless((await whole.get('Groups')).Groups), [
    { Id: 'g1', Name: '7A', Code: '7A', Type: 'RegGrp', Subject: 'Registration', StaffIds: ['s1'], StudentIds: ['p1', 'p2'] },
    { Id: 'g2', Name: '7B', Code: null, Type: 'RegGrp', Subject: 'Maths', StaffIds: [], StudentIds: [] },
    { Id: 'k1', Name: '7x/Ma1', Code: 'Ma1', Type: 'TeachingGrp', Subject: 'Maths', StaffIds: ['s1', 's2'], StudentIds: ['p1', 'p3'] },
  ]);
});

test('references to people whom the scopes hide are left out', async () => {
  const some = async (rp: string, scopes: string) => getter(await service.addClient(rp, [whole.estab], scopes), whole.estab);
  const school = await some('school-only', 'School');
  assert.deepEqual((await school('Groups')).Groups?.map((row) => [row.StaffIds, row.StudentIds]), [[[], []], [[], []], [[], []]]);
  const staff = await some('with-staff', 'School,Staff');
  assert.deepEqual((await staff('Groups')).Groups?.map((row) => [row.StaffIds, row.StudentIds]), [[['s1'], []], [[], []], [['s1', 's2'], []]]);
  const contacts = await some('contact-only', 'Contact');
  assert.deepEqual((await contacts('Contacts')).Contacts?.map((row) => row.StudentIds), [[], []]);
});

test('the school, its calendar, counts and codes', async () => {
  const { SchoolInfo } = await whole.get('SchoolInfo');
  assert.deepEqual(timeless(SchoolInfo), [
    { Estab: whole.estab, Name: `School ${whole.estab}`, Email: `office@${whole.estab}.example`, TimeZone: 'Europe/London', Connector: 'csv' },
  ]);
  const { Calendar = [] } = await whole.get('Calendar');
  assert.deepEqual(
    [Calendar.length, Calendar[0], Calendar.at(-1)],
    [325, { Date: '2026-09-01', IsSchoolDay: true, Term: 'Autumn' }, { Date: '2027-07-22', IsSchoolDay: false, Term: null }],
  );
  assert.deepEqual(
    Calendar.find((row) => row.Date === '2026-11-14'),
    { Date: '2026-11-14', IsSchoolDay: false, Term: 'Autumn' },
  );
  assert.deepEqual(
    (await whole.get('Counts')).Counts,
    [
      ['Students', 3],
      ['Staff', 2],
      ['Contacts', 2],
      ['Groups', 3],
      ['Courses', 1],
      ['Enrollments', 8],
      ['Demographics', 0],
      ['Orgs', 1],
      ['AcademicSessions', 2],
    ].map(([Area, Count]) => ({ Area, Count })),
  );
  const { AttendanceCodes = [] } = await whole.get('AttendanceCodes');
  assert.deepEqual(Object.keys(AttendanceCodes[0] ?? {}), ['Mark', 'Description', 'Meaning', 'ValidFrom', 'ValidTo', 'Writable']);
  assert.ok(AttendanceCodes.some((row) => row.Mark === '/') && AttendanceCodes.some((row) => row.Mark === 'H' && row.ValidTo !== null));
});

test('attendance of a day and of a range, narrowed by session and pupil', async () => {
  const mark = (StudentId: string, Date: string, Session: string, Mark: string, MinsLate: number | null = null, Notes: string | null = null) => ({
    Id: `${StudentId}.${Date}.${Session}`, StudentId, Date, Type: 'S', Session, Mark, MinsLate, Notes,
  });
  const [am, pm, ill, next] = [
    mark('p1', '2026-11-12', 'AM', '/'), mark('p1', '2026-11-12', 'PM', 'L', 12, 'bus'), mark('p2', '2026-11-12', 'AM', 'I'),
    mark('p2', '2026-11-13', 'AM', '/'),
  ];
  const day = async (query: string) => timeless((await whole.get(`attendancefordate?${query}`)).AttendanceForDate);
  assert.deepEqual(await day('date=2026-11-12'), [am, pm, ill]);
  assert.deepEqual(await day('date=2026-11-12&sessionType=am'), [am, ill]);
  assert.deepEqual(await day('date=2026-11-12&id=p1&sessionType=PM'), [pm]);
  assert.deepEqual(await day('date=2026-11-13'), [next]);
  assert.deepEqual(await day('date=2026-11-11'), []);
  const range = async (query: string) => timeless((await whole.get(`AttendanceForDateRange?${query}`)).AttendanceForDateRange);
  assert.deepEqual(await range('dateFrom=2026-10-14&dateTo=2026-11-13'), [am, pm, ill, next]);
  assert.deepEqual(await range('dateFrom=2026-11-13&dateTo=2026-11-13&id=p2'), [next]);
});

test('the envelope: name, meta, pagination, statuses, and four nulls at the end', async () => {
  const answer = await whole.get(`School/${whole.estab}/AttendanceForDate?date=2026-11-12`);
  assert.deepEqual(Object.keys(answer), [
    'AttendanceForDate', 'meta', '__pagination__', '__dbStatus__', 'Message', 'ExceptionType', 'ExceptionMessage', 'InnerException',
  ]);
  assert.deepEqual(
    ['Message', 'ExceptionType', 'ExceptionMessage', 'InnerException'].map((key) => answer[key]),
    [null, null, null, null],
  );
  assert.deepEqual(answer['__pagination__'], [{ PageSize: 3, PageNumber: 1, PageCount: 1, RowCount: 3 }]);
  assert.deepEqual(answer.meta?.map((row) => [row.Estab, row.DateTime]), [[whole.estab, '2026-11-13T12:00:00.000Z']]);
  assert.deepEqual(answer['__dbStatus__']?.map(({ LastUpdated, ...row }) => [typeof LastUpdated, row]), [
    ['string', { DatabaseName: 'SchoolData', Status: 'OK', Expires: null, TTLMinutes: 1440, RowCount: 22, Message: null }],
    ['string', { DatabaseName: 'Attendance', Status: 'OK', Expires: null, TTLMinutes: 30, RowCount: 4, Message: null }],
  ]);
});

test('pages followed by NextPage give everything exactly once, in order; past the end there is nothing', async () => {
  const pupils = Array.from({ length: 25 }, (_, at) => user(`n${String(at).padStart(2, '0')}`, 'student'));
  const { get } = await newSchool({ users: [...smallSchool.users, ...pupils] });
  const expected = ids((await get('Students')).Students);
  assert.equal(expected?.length, 29);
  for (const [path, pages] of [['Students?pageSize=10', 3], ['Students?pageSize=29', 1], ['Students?updatedSince=2020-01-01&PAGESIZE=7&page=1', 5]] as const) {
    const seen: unknown[] = [];
    let calls = 0;
    for (let next: string | undefined = path; next !== undefined; calls += 1) {
      const answer: Envelope = await get(next);
      const [pagination] = answer['__pagination__'] ?? [];
      assert.deepEqual([pagination?.RowCount, pagination?.PageCount, pagination?.PageNumber], [29, pages, calls + 1]);
      seen.push(...(ids(answer.Students) ?? []));
      next = pagination?.NextPage === undefined ? undefined : `Students${String(pagination.NextPage)}`;
    }
    assert.deepEqual([seen, calls], [expected, pages], path);
  }
  const beyond = await get('Students?pageSize=10&page=4');
  assert.deepEqual([beyond.Students, beyond['__pagination__']], [[], [{ PageSize: 10, PageNumber: 4, PageCount: 3, RowCount: 29 }]]);
  assert.match(
    String((await get('AttendanceForDate?date=2026-11-12&id=p1&pageSize=1'))['__pagination__']?.[0]?.NextPage),
    /^\?date=2026-11-12&id=p1&page=2&pageSize=1$/,
  );
});

test('updatedSince: what moved since, and the ids that have gone; nothing moved gives nothing', async () => {
  const { estab, get } = await newSchool();
  const since = async () =>
    encodeURIComponent(
      String(
        (
          await db<
            { at: Date }[]
          >`select max(instant) as at from (select instant from roster_version where estab = ${estab} union all select instant from attendance_version
              where estab = ${estab}) v`
        )[0]?.at.toISOString(),
      ),
    );
  const first = await since();
  for (const name of ['Students', 'Staff', 'Contacts', 'Groups'])
    assert.deepEqual([(await get(`${name}?updatedSince=${first}`))[name], (await get(`${name}?updatedSince=${first}`))[`${name}_deleted`]], [[], []], name);
  assert.deepEqual((await get(`Counts?updatedSince=${encodeURIComponent(new Date(Date.now() + 60_000).toISOString())}`)).Counts, []);
  assert.equal((await get('Students?updatedSince=2020-01-01')).Students?.length, 4);

  await service.load(estab, deltaPackage({ users: [user('p3', 'student', { email: 'new@school.example' })] }));
  await service.load(estab, deltaPackage({ users: [user('p2', 'student'), user('s2', 'aide')] }, 'tobedeleted'), { approve: true });
  const students = await get(`Students?updatedSince=${first}`);
  assert.deepEqual([ids(students.Students), students.Students_deleted, students['__pagination__']?.[0]?.RowCount], [['p3'], ['p2'], 1]);
  const staff = await get(`Staff?updatedSince=${first}`);
  assert.deepEqual([staff.Staff, staff.Staff_deleted], [[], ['s2']]);
  assert.equal((await get('Students')).Students_deleted, undefined);
  const second = await since();
  const later = await get(`Students?updatedSince=${second}`);
  assert.deepEqual([later.Students, later.Students_deleted], [[], []]);

  await service.load(estab, smallPackage({}, { raw: { 'attendance.csv': attendanceCsv('p1,2026-11-12,AM,,,', 'p1,2026-11-12,PM,L,20,bus') } }));
  const changed = await get(`AttendanceForDate?date=2026-11-12&updatedSince=${second}`);
  assert.deepEqual(
    [changed.AttendanceForDate?.map((row) => [row.Id, row.MinsLate]), changed.AttendanceForDate_deleted],
    [[['p1.2026-11-12.PM', 20]], ['p1.2026-11-12.AM']],
  );
});

type Change = { name: string; id: string; to: Partial<SchoolFiles>; gone?: true; see: (row: Row | undefined) => unknown; before: unknown; after: unknown };
const changes: readonly (Change & { what: string })[] = [
  {
    what: 'a pupil joins another registration group', name: 'Students', id: 'p3', to: { enrollments: [enrolment('e10', 'p3', 'g2')] },
    see: (row) => row?.RegistrationGroup, before: null, after: '7B',
  },
  {
    what: 'a pupil leaves the registration group', name: 'Students', id: 'p1', to: { enrollments: [enrolment('e1', 'p1', 'g1')] }, gone: true,
    see: (row) => row?.RegistrationGroup, before: '7A', after: null,
  },
  {
    what: 'the registration group has another name', name: 'Students', id: 'p1',
    to: { classes: [schoolClass('g1', '7Z', { classType: 'homeroom' })] }, see: (row) => row?.RegistrationGroup, before: '7A', after: '7Z',
  },
  {
    what: 'the group is a registration group no longer', name: 'Students', id: 'p1', to: { classes: [schoolClass('g1', '7A')] },
    see: (row) => row?.RegistrationGroup, before: '7A', after: null,
  },
  {
    what: 'an enrolment is moved to another group', name: 'Groups', id: 'g1', to: { enrollments: [enrolment('e1', 'p1', 'g2')] },
    see: (row) => row?.StudentIds, before: ['p1', 'p2', 'p9'], after: ['p2', 'p9'],
  },
  {
    what: 'a pupil of the group leaves the school', name: 'Groups', id: 'g1', to: { users: [user('p9', 'student')] }, gone: true,
    see: (row) => row?.StudentIds, before: ['p1', 'p2', 'p9'], after: ['p1', 'p2'],
  },
  {
    what: "the contact's own list changes", name: 'Contacts', id: 'a1', to: { users: [user('a1', 'parent', { agentSourcedIds: 'p1' })] },
    see: (row) => row?.StudentIds, before: ['p1', 'p2', 'p9'], after: ['p1'],
  },
  {
    what: 'a pupil names the contact', name: 'Contacts', id: 'a2', to: { users: [user('p3', 'student', { agentSourcedIds: 'a2' })] },
    see: (row) => row?.StudentIds, before: ['p1', 'p2', 'p9'], after: ['p1', 'p2', 'p3', 'p9'],
  },
  {
    what: 'a pupil names the contact no longer', name: 'Contacts', id: 'a2', to: { users: [user('p2', 'student', { grades: '08' })] },
    see: (row) => row?.StudentIds, before: ['p1', 'p2', 'p9'], after: ['p1', 'p9'],
  },
];
for (const { what, name, id, to, gone, see, before, after } of changes) {
  test(`LastUpdated of ${name} moves when ${what}`, async () => {
    const { estab, get } = await newSchool();
    const old = await byId(get, name, id);
    assert.deepEqual(see(old), before);
    const report = await service.load(estab, deltaPackage(to, gone ? 'tobedeleted' : 'active'));
    assert.equal(report.outcome, 'done', JSON.stringify(report.problems));
    const now = await byId(get, name, id);
    assert.deepEqual(see(now), after);
    assert.ok(String(now?.LastUpdated) > String(old?.LastUpdated), `${String(now?.LastUpdated)} is not after ${String(old?.LastUpdated)}`);
    assert.ok(await byId(get, name, id, `?updatedSince=${String(old?.LastUpdated)}`), 'a reader of changes learns of it');
  });
}

test('somebody who is a pupil no longer, but on the staff, has gone from Students', async () => {
  const { estab, get } = await newSchool();
  const at = String((await byId(get, 'Students', 'p3'))?.LastUpdated);
  await service.load(estab, deltaPackage({ users: [user('p3', 'aide')] }));
  assert.deepEqual((await get(`Students?updatedSince=${at}`)).Students_deleted, ['p3']);
  assert.deepEqual(ids((await get(`Staff?updatedSince=${at}`)).Staff), ['p3']);
});
