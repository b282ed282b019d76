// Schools are kept apart: every operation is tried with another school's ids, filters, sorts and tokens, and nothing of
// that school may appear. And what a token of several schools shows of them at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvPackage, type Rows } from '../../test/csv-package.ts';
import { asking as askingFreely, byName, offers, ofSeveralSchools, testedDialects, type TestedDialect } from '../../test/dialects.ts';
import { useService, type Client } from '../../test/service.ts';
import { authorise, changeState } from '../access/authorisations.ts';

const oak = { estab: '1000001', mark: 'oak' };
const elm = { estab: '2000002', mark: 'elm' };
type School = typeof oak;

/** Every record twice, under an id that both schools use and under one of the school's own; every text is marked. */
function rosterOf(mark: string) {
  const each = (make: (prefix: string) => Rows): Rows => ['', `${mark}-`].flatMap(make).map((row) => ({ ...row, 'metadata.note': `${mark} note` }));
  return csvPackage({
    orgs: each((p) => [
      { sourcedId: `${p}sch`, name: `${mark} school`, type: 'school', identifier: `${mark} id`, parentSourcedId: `${p}dis` },
      { sourcedId: `${p}dis`, name: `${mark} district`, type: 'district', identifier: '', parentSourcedId: '' },
    ]),
    academicSessions: each((p) => [
      {
        sourcedId: `${p}yr`, title: `${mark} year`, type: 'schoolYear', startDate: '2025-09-01', endDate: '2026-08-31', parentSourcedId: '',
        schoolYear: '2026',
      },
      {
        sourcedId: `${p}aut`, title: `${mark} autumn`, type: 'term', startDate: '2025-09-01', endDate: '2025-12-20', parentSourcedId: `${p}yr`,
        schoolYear: '2026',
      },
      {
        sourcedId: `${p}gp`, title: `${mark} half`, type: 'gradingPeriod', startDate: '2025-09-01', endDate: '2025-10-20',
        parentSourcedId: `${p}aut`, schoolYear: '2026',
      },
    ]),
    courses: each((p) => [
      {
        sourcedId: `${p}crs`, schoolYearSourcedId: `${p}yr`, title: `${mark} maths`, courseCode: `${mark} code`, orgSourcedId: `${p}sch`,
        subjects: `${mark} subject`, subjectCodes: `${mark} code`,
      },
    ]),
    classes: each((p) => [
      {
        sourcedId: `${p}cls`, title: `${mark} class`, courseSourcedId: `${p}crs`, classCode: `${mark} code`, classType: 'scheduled',
        location: `${mark} room`, schoolSourcedId: `${p}sch`, termSourcedIds: `${p}aut`, periods: `${mark} period`,
      },
    ]),
    users: each((p) =>
      [
        ['pup', 'student', 'mum'],
        ['tea', 'teacher', ''],
        ['mum', 'parent', 'pup'],
      ].map(([id = '', role = '', agent = '']) => ({
        sourcedId: p + id, enabledUser: 'true', orgSourcedIds: `${p}sch`, role, username: `${mark} ${p}${id}`, userIds: `{${mark}:${mark}}`,
        givenName: `${mark} given`, familyName: `${mark} family`, middleName: `${mark} middle`, identifier: `${mark} id`,
        email: `${id}@${mark}.example`, sms: `${mark} sms`, phone: `${mark} phone`, agentSourcedIds: agent && p + agent, grades: `${mark} grade`,
      })),
    ),
    enrollments: each((p) =>
      [
        ['pup', 'student'],
        ['tea', 'teacher'],
      ].map(([id = '', role = '']) => ({ sourcedId: `${p}enr-${id}`, classSourcedId: `${p}cls`, schoolSourcedId: `${p}sch`, userSourcedId: p + id, role })),
    ),
    demographics: each((p) => [
      { sourcedId: `${p}pup`, cityOfBirth: `${mark} city`, countryOfBirthCode: `${mark} country`, publicSchoolResidenceStatus: `${mark} status` },
    ]),
  });
}

const service = await useService();
for (const { estab, mark } of [oak, elm]) await service.addSchool(estab, rosterOf(mark));
const oakApp = await service.addClient('oak-app', [oak.estab]);
const both = await service.addClient('both', [oak.estab, elm.estab]);

const idOf: Record<string, string> = {
  orgs: 'sch', schools: 'sch', academicSessions: 'aut', terms: 'aut', gradingPeriods: 'gp', courses: 'crs', classes: 'cls', students: 'pup',
  teachers: 'tea', users: 'pup', enrollments: 'enr-pup', demographics: 'pup',
};

/** The path with the ids that stand under each prefix, in turn. */
function fill(path: string, ...prefixes: string[]): string {
  let at = 0;
  return path.replace(
    /\/(\w+)\/:\w+/g,
    (_, segment: string) => `/${segment}/${prefixes[Math.min(at++, prefixes.length - 1)]}${idOf[segment] ?? assert.fail(`no id for ${segment}`)}`,
  );
}

type Asking = { name: string; school: School; other: School; dialect: TestedDialect; get: (path: string) => Promise<Response> };
const askingAs = (school: School, dialect: TestedDialect, of: Client, how: string): Asking => ({
  name: `${school.mark} in ${dialect.name}, ${how}`,
  school,
  other: school === oak ? elm : oak,
  dialect,
  get: (path) => dialect.read(of, school.estab, path),
});
const askings: readonly Asking[] = [
  askingAs(oak, byName.A, oakApp, 'by an application of its own'),
  askingAs(oak, byName.B, both, 'by an application that both authorise'),
  askingAs(elm, byName['1.2'], both, 'by an application that both authorise'),
  { ...askingAs(oak, byName['1.2'], oakApp, 'by an application of its own, with its own secret'), get: (path) => oakApp.v12(undefined, path) },
];

async function assertOnly({ school, other }: Asking, response: Response, what: string): Promise<string> {
  const text = await response.text();
  assert.ok(!text.includes(other.mark), `${what} shows something of ${other.mark}: ${text}`);
  if (response.status === 200 && !/"\w+":\[\]/.test(text)) assert.ok(text.includes(school.mark), `${what} shows nothing of ${school.mark}`);
  return text;
}

for (const asking of askings) {
  const { school, other, get, dialect, name } = asking;
  const { offered, asksFreely } = dialect;
  test(`${name}: every operation, with ids of its own, of both, and of the other school`, async () => {
    assert.equal(offered.length, asksFreely ? 41 : 12);
    for (const { path } of offered) {
      const expected: [filled: string, status: number][] = [[fill(path, ''), 200], [fill(path, `${school.mark}-`), 200]];
      if (path.includes(':')) expected.push([fill(path, `${other.mark}-`), 404]);
      if (/:.*:/.test(path)) expected.push([fill(path, '', `${other.mark}-`), 404], [fill(path, `${other.mark}-`, ''), 404]);
      for (const [filled, status] of expected) {
        for (const query of ['', '?limit=50']) {
          const response = await get(filled + query);
          const text = await assertOnly(asking, response, filled + query);
          assert.equal(response.status, status, `${filled}${query}: ${text}`);
          if (status === 200) assert.doesNotMatch(text, /\[\]/, `${filled} is empty`);
        }
      }
    }
  });

  // Once in each dialect: which secret opened it makes no difference to a question.
  if (askings.findIndex((one) => one.dialect === dialect) !== askings.indexOf(asking)) continue;
  test(`${name}: filters, sorts and pages reach nothing of the other school`, async () => {
    const alien = [
      `sourcedId='${other.mark}-sch'`,
      `sourcedId~'${other.mark}'`,
      `metadata.note='${other.mark} note'`,
      `metadata.note='${other.mark} note' or sourcedId~'${other.mark}-'`,
      `sourcedId>'${other.mark}-' and metadata.note~'${other.mark}'`,
    ];
    const own = [
      "sourcedId!='x'",
      "sourcedId>=''",
      `status='active' or metadata.note~'${other.mark}'`,
      "sourcedId='x'' or ''1''=''1' or status='active'",
      "status='active'",
    ];
    const sorts = [
      'sort=metadata.note&orderBy=desc', 'sort=sourcedId&orderBy=desc&limit=1&offset=1', 'sort=dateLastModified&fields=sourcedId,metadata',
      'limit=1&offset=999', 'fields=sourcedId,metadata',
    ];
    for (const { path } of offered.filter(({ single }) => !single)) {
      const asked = [...own.map((filter) => `filter=${encodeURIComponent(filter)}`), ...sorts];
      await Promise.all(asked.map(async (query) => {
        const response = await get(`${fill(path, '')}?${query}`);
        if (asksFreely) assert.equal(response.status, 200, `${path}?${query}`);
        await assertOnly(asking, response, `${path}?${query}`);
      }));
      await Promise.all(alien.map(async (filter) => {
        const response = await get(`${fill(path, '')}?limit=100&filter=${encodeURIComponent(filter)}`);
        await assertOnly(asking, response, `${path} ${filter}`);
        if (asksFreely) assert.equal(response.headers.get('x-total-count'), '0', `${path} ${filter}`);
      }));
    }
  });
}

test('references to the other school match nothing', async () => {
  const references: [path: string, filter: string][] = [
    ['/enrollments', 'class.sourcedId=cls'],
    ['/enrollments', 'user.sourcedId=pup'],
    ['/enrollments', 'school.sourcedId=sch'],
    ['/classes', 'course.sourcedId=crs'],
    ['/classes', 'terms.sourcedId~aut'],
    ['/users', 'agents.sourcedId=mum'],
    ['/orgs', 'children.sourcedId=sch'],
    ['/academicSessions', 'parent.sourcedId=yr'],
  ];
  for (const dialect of askingFreely) {
    const own: [path: string, filter: string][] = [
      ['/users', `${dialect.words.orgs}=sch`], dialect.name === 'B' ? ['/users', 'orgSourcedIds~sch'] : ['/users', 'primaryOrg.sourcedId=sch'],
    ];
    for (const [path, filter] of [...references, ...own]) {
      const count = async (mark: string) => {
        const asked = `${path}?limit=100&filter=${encodeURIComponent(filter.replace(/([=~])/, `$1'${mark}-`))}'`;
        return (await dialect.read(both, oak.estab, asked)).headers.get('x-total-count');
      };
      assert.ok(Number(await count('oak')) > 0, `${dialect.name} ${path} ${filter}`);
      assert.equal(await count('elm'), '0', `${dialect.name} ${path} ${filter}`);
    }
  }
});

/** The same ids in both schools; what ends in 9 belongs together with the rest in the one that is linked. */
function relatedRoster(linked: boolean) {
  const person = (sourcedId: string, role: string, org: string, agentSourcedIds = '') => ({
    sourcedId, enabledUser: 'true', orgSourcedIds: org, role, username: sourcedId, givenName: sourcedId, familyName: 'Lee', agentSourcedIds,
  });
  const session = (sourcedId: string, type: string, parentSourcedId: string) => ({
    sourcedId, title: sourcedId, type, startDate: '2025-09-01', endDate: '2026-08-31', parentSourcedId, schoolYear: '2026',
  });
  const lesson = (sourcedId: string, courseSourcedId: string, schoolSourcedId: string, termSourcedIds: string) => ({
    sourcedId, title: sourcedId, classType: 'scheduled', courseSourcedId, schoolSourcedId, termSourcedIds,
  });
  const enrolled = (userSourcedId: string, role: string, classSourcedId: string) => ({
    sourcedId: `${userSourcedId}-${classSourcedId}`, userSourcedId, role, classSourcedId, schoolSourcedId: 'sch',
  });
  const org = linked ? 'sch' : 'sch9';
  return csvPackage({
    orgs: ['sch', 'sch9'].map((sourcedId) => ({ sourcedId, name: sourcedId, type: 'school' })),
    academicSessions: [session('aut', 'term', ''), session('aut9', 'term', ''), session('gp9', 'gradingPeriod', linked ? 'aut9' : 'aut')],
    courses: [{ sourcedId: 'crs', title: 'crs', orgSourcedId: 'sch' }, { sourcedId: 'crs9', title: 'crs9', orgSourcedId: 'sch9' }],
    classes: [lesson('cls', 'crs', 'sch', 'aut'), linked ? lesson('cls9', 'crs9', 'sch', 'aut9') : lesson('cls9', 'crs', 'sch9', 'aut')],
    users: [
      person('pup', 'student', 'sch'), person('tea', 'teacher', 'sch'), person('pup9', 'student', org, 'kin9'), person('tea9', 'teacher', org),
      person('kin9', linked ? 'parent' : 'teacher', 'sch9'),
    ],
    enrollments: [
      enrolled('pup', 'student', 'cls'),
      enrolled('tea', 'teacher', 'cls'),
      ...(linked ? ['cls', 'cls9'].flatMap((id) => [enrolled('pup9', 'student', id), enrolled('tea9', 'teacher', id)]) : []),
    ],
  });
}

test('records of the same ids are related as their own school has it', async () => {
  const related = { ash: '3000003', fir: '4000004' };
  await service.addSchool(related.ash, relatedRoster(false));
  await service.addSchool(related.fir, relatedRoster(true));
  const client = await service.addClient('related', Object.values(related));
  const expected: [path: string, ash: string, fir: string][] = [
    ['/classes/cls/students', 'pup', 'pup pup9'],
    ['/classes/cls/teachers', 'tea', 'tea tea9'],
    ['/classes/cls9/students', '', 'pup9'],
    ['/schools/sch/classes/cls/students', 'pup', 'pup pup9'],
    ['/schools/sch/classes/cls/teachers', 'tea', 'tea tea9'],
    ['/schools/sch/classes/cls/enrollments', 'pup-cls tea-cls', 'pup-cls pup9-cls tea-cls tea9-cls'],
    ['/schools/sch/classes/cls9/students', '404', 'pup9'],
    ['/schools/sch9/classes/cls9/students', '', '404'],
    ['/schools/sch/enrollments', 'pup-cls tea-cls', 'pup-cls pup9-cls pup9-cls9 tea-cls tea9-cls tea9-cls9'],
    ['/students/pup9/classes', '', 'cls cls9'],
    ['/users/pup9/classes', '', 'cls cls9'],
    ['/teachers/tea9/classes', '', 'cls cls9'],
    ['/teachers/kin9/classes', '', '404'],
    ['/schools/sch/students', 'pup', 'pup pup9'],
    ['/schools/sch/teachers', 'tea', 'tea tea9'],
    ['/schools/sch/classes', 'cls', 'cls cls9'],
    ['/schools/sch/courses', 'crs', 'crs crs9'],
    ['/schools/sch/terms', 'aut', 'aut aut9'],
    ['/terms/aut9/classes', '', 'cls9'],
    ['/terms/aut9/gradingPeriods', '', 'gp9'],
    ['/courses/crs9/classes', '', 'cls9'],
  ];
  for (const [turn, [path, ...perSchool]] of expected.entries()) {
    for (const [index, estab] of Object.values(related).entries()) {
      const dialect = askingFreely[(turn + index) % askingFreely.length] ?? assert.fail();
      const response = await dialect.read(client, estab, path);
      const found =
        response.status === 200
          ? (Object.values((await response.json()) as Record<string, Listed[]>)[0] ?? []).map((one) => one.sourcedId).join(' ')
          : String(response.status);
      assert.equal(found, perSchool[index], `${dialect.name} ${path} at ${estab}`);
    }
  }
  const some = await service.addClient('some', Object.values(related), 'Student,Contact');
  for (const [estab, shown] of [[related.ash, false], [related.fir, true]] as const) {
    for (const { name, read } of askingFreely) {
      const text = await (await read(some, estab, '/users/pup9')).text();
      assert.equal(text.includes('kin9'), shown, `a teacher in one school, a parent in the other: ${name} ${estab}`);
      assert.equal((await read(some, estab, "/users?limit=9&filter=agents.sourcedId%3D'kin9'")).headers.get('x-total-count'), shown ? '1' : '0');
    }
  }
  for (const { readAll } of ofSeveralSchools) {
    const { users } = (await (await readAll(some, "/users?filter=status%3D'active'")).json()) as { users: { sourcedId: string; agents?: unknown }[] };
    assert.deepEqual(users.filter(({ sourcedId }) => sourcedId === 'pup9').map(({ agents }) => agents !== undefined), [false, true]);
  }
});

test('the same page asked in turn by both schools is always their own', async () => {
  for (const path of ['/users?limit=100', '/users', '/classes/cls/students?limit=100', "/users?limit=100&filter=status%3D'active'", '/users/pup']) {
    for (let round = 0; round < 3; round += 1) for (const one of askings) if (offers(one.dialect, path)) await assertOnly(one, await one.get(path), path);
  }
  for (const { read } of askingFreely) {
    const tag = (await read(both, oak.estab, '/users?limit=100')).headers.get('etag') ?? '';
    assert.equal((await read(both, oak.estab, '/users?limit=100', { 'if-none-match': tag })).status, 304);
    const other = await read(both, elm.estab, '/users?limit=100', { 'if-none-match': tag });
    assert.equal(other.status, 200);
    assert.doesNotMatch(await other.text(), /oak/);
  }
});

test('a secret opens the school it was given for, and a token only what it was issued for', async () => {
  const secretOf = (client: Client, { estab }: School) => client.schoolSecrets[estab] ?? '';
  for (const dialect of testedDialects.filter((one) => one.secretOf === 'school')) {
    const status = async (user: string, secret: string) => {
      const headers = { authorization: `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}` };
      return (await fetch(`${service.url}${dialect.tokenPath}`, { method: 'POST', headers })).status;
    };
    assert.equal(await status(`both|${oak.estab}`, secretOf(both, oak)), 200);
    assert.equal(await status(`both|${elm.estab}`, secretOf(both, oak)), 401, 'the same application at another school');
    assert.equal(await status(`oak-app|${elm.estab}`, secretOf(oakApp, oak)), 401, 'a school that has not authorised it');
    assert.equal(await status(`oak-app|${oak.estab}`, secretOf(both, oak)), 401, 'another application at the same school');
    assert.equal(await status(`oak-app|${oak.estab}|${elm.estab}`, secretOf(oakApp, oak)), 401);
    assert.equal(await status(`both|${oak.estab}`, both.clientSecret), 401, 'the secret of the application under the name of a school');
    assert.equal(await status(both.clientId, secretOf(both, oak)), 401, 'the secret of a school under the name of the application');
    const [header, payload = '', signature] = (await dialect.token(oakApp, oak.estab)).split('.');
    const changed = JSON.stringify({ ...(JSON.parse(Buffer.from(payload, 'base64url').toString()) as object), estab: elm.estab });
    const response = await fetch(`${service.url}${dialect.root}/users`, {
      headers: { authorization: `Bearer ${header}.${Buffer.from(changed).toString('base64url')}.${signature}` },
    });
    assert.equal(response.status, 401);
    assert.doesNotMatch(await response.text(), /elm|oak/);
  }
});

type Listed = { sourcedId: string; metadata: { note: string }; href?: string };
type Several = (typeof ofSeveralSchools)[number];
const listAll = async (dialect: Several, client: Client, path: string): Promise<{ ids: string[]; total: number; text: string }> => {
  const response = await dialect.readAll(client, path);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const records = Object.values(JSON.parse(text) as Record<string, Listed[]>)[0] ?? [];
  return {
    ids: records.map(({ sourcedId, metadata }) => `${sourcedId} ${metadata.note.split(' ', 1)[0]}`),
    total: Number(response.headers.get('x-total-count')),
    text,
  };
};

for (const dialect of ofSeveralSchools) {
  const { name, root, offered, errors } = dialect;
  const listOf = (client: Client, path: string) => listAll(dialect, client, path);
  const refused = errors.forbidden?.status;

  test(`${name} lists several schools one after the other, each by sourcedId`, async () => {
    const expected = [
      'mum oak', 'oak-mum oak', 'oak-pup oak', 'oak-tea oak', 'pup oak', 'tea oak', 'elm-mum elm', 'elm-pup elm', 'elm-tea elm', 'mum elm', 'pup elm',
      'tea elm',
    ];
    const whole = await listOf(both, '/users');
    assert.deepEqual(whole.ids, expected);
    assert.equal(whole.total, 12);
    for (const size of [1, 5, 12]) {
      const paged: string[] = [];
      for (let offset = 0; offset < 12; offset += size) paged.push(...(await listOf(both, `/users?limit=${size}&offset=${offset}`)).ids);
      assert.deepEqual(paged, expected, `in pages of ${size}`);
    }
    const roots = new Set([...whole.text.matchAll(/"href":"([^"]*)\/(?:orgs|users)\/[^"]*"/g)].map(([, address]) => address));
    assert.deepEqual([...roots], [`${service.url}${root}`]);
  });

  test(`${name} reads by id what is unique, and says so when it is not`, async () => {
    for (const { path } of offered.filter(({ single }) => single)) {
      const ambiguous = await dialect.readAll(both, fill(path, ''));
      assert.equal(ambiguous.status, 400, path);
      assert.match(ambiguous.headers.get('content-type') ?? '', dialect.errorType);
      const { message, minor } = dialect.readError(await ambiguous.text());
      assert.match(message, /more than one school/i);
      assert.equal(minor, errors.request?.minor);
      for (const { mark } of [oak, elm]) assert.match(await (await dialect.readAll(both, fill(path, `${mark}-`))).text(), new RegExp(mark));
      assert.equal((await dialect.readAll(both, `${path.replace(':sourcedId', 'nobody')}`)).status, 404);
    }
  });

  test(`in ${name} each school shows what it grants itself`, async () => {
    const rp = `uneven-${name}`;
    const client = await service.addClient(rp, [], 'School:optional,Student:optional,Staff:optional,Contact:optional');
    await authorise(service.db, { rp, estab: oak.estab, scopes: 'Student' });
    await authorise(service.db, { rp, estab: elm.estab, scopes: 'Student,Staff,Contact' });
    const users = await listOf(client, '/users');
    assert.deepEqual(users.ids, ['oak-pup oak', 'pup oak', 'elm-mum elm', 'elm-pup elm', 'elm-tea elm', 'mum elm', 'pup elm', 'tea elm']);
    assert.equal(users.total, 8);
    assert.equal((await listOf(client, '/users?limit=3&offset=3')).total, 8);
    const enrollments = await listOf(client, '/enrollments');
    assert.deepEqual(enrollments.ids, ['enr-pup oak', 'oak-enr-pup oak', 'elm-enr-pup elm', 'elm-enr-tea elm', 'enr-pup elm', 'enr-tea elm']);
    assert.equal(enrollments.total, 6);
    const agents = (JSON.parse(users.text) as { users: (Listed & { agents?: { sourcedId: string }[] })[] }).users.map(
      ({ sourcedId, metadata, agents: given }) => [sourcedId, metadata.note.slice(0, 3), given?.map((one) => one.sourcedId)],
    );
    assert.deepEqual(
      agents.filter(([id]) => String(id).endsWith('pup')),
      [
        ['oak-pup', 'oak', undefined],
        ['pup', 'oak', undefined],
        ['elm-pup', 'elm', ['elm-mum']],
        ['pup', 'elm', ['mum']],
      ],
    );
    const statuses = await Promise.all(['mum', 'pup', 'oak-mum', 'elm-mum'].map(async (id) => (await dialect.readAll(client, `/users/${id}`)).status));
    assert.deepEqual(statuses, [200, 400, 404, 200], 'hidden records make nothing ambiguous');
    assert.match(await (await dialect.readAll(client, '/users/mum')).text(), /elm note/);
    assert.equal((await dialect.readAll(client, '/orgs')).status, refused, 'no school opens it');
    await authorise(service.db, { rp, estab: oak.estab, scopes: 'School' });
    assert.ok((await listOf(client, '/orgs')).ids.every((id) => id.endsWith(' oak')));
    assert.ok((await listOf(client, '/users')).ids.every((id) => id.endsWith(' elm')));
  });

  test(`a school that pauses or revokes drops out of the lists of ${name}, and comes back`, async () => {
    const rp = `pausing-${name}`;
    const client = await service.addClient(rp, [oak.estab, elm.estab]);
    const marks = async () => [...new Set((await listOf(client, '/users?limit=100')).ids.map((id) => id.split(' ')[1]))].toSorted();
    const change = (to: 'Paused' | 'Approved' | 'Revoked') => changeState(service.db, { rp, estab: oak.estab, from: ['Approved', 'Paused'], to });
    assert.deepEqual(await marks(), ['elm', 'oak']);
    await change('Paused');
    assert.deepEqual(await marks(), ['elm']);
    assert.equal((await dialect.readAll(client, '/users/pup')).status, 200, 'no longer ambiguous');
    assert.equal((await dialect.readAll(client, '/users/oak-pup')).status, 404);
    for (const { read } of askingFreely) assert.equal((await read(client, elm.estab, '/users')).status, 200);
    await change('Approved');
    assert.deepEqual(await marks(), ['elm', 'oak']);
    await change('Revoked');
    assert.deepEqual(await marks(), ['elm']);
  });
}

test('of several schools, what is nested counts where all that it is nested in is of the same school', async () => {
  const base = (type: string, role: string) => ({
    orgs: [{ sourcedId: 'x', name: 'x', type }],
    academicSessions: [{ sourcedId: 'aut', title: 'Autumn', type: 'term', startDate: '2026-09-01', endDate: '2026-12-20', schoolYear: '2027' }],
    courses: [{ sourcedId: 'crs', title: 'Maths', orgSourcedId: 'x' }],
    users: [{ sourcedId: 'u', enabledUser: 'true', orgSourcedIds: 'x', role, username: 'u', givenName: 'Ann', familyName: 'Lee' }],
  });
  const withClasses = (type: string, role: string, ...ids: string[]) => csvPackage({
    ...base(type, role),
    classes: ids.map((sourcedId) => ({
      sourcedId, title: `${type} ${sourcedId}`, courseSourcedId: 'crs', classType: 'scheduled', schoolSourcedId: 'x', termSourcedIds: 'aut',
    })),
    enrollments: ids.map((id) => ({ sourcedId: `${type}-${id}`, classSourcedId: id, schoolSourcedId: 'x', userSourcedId: 'u', role })),
  });
  const [ash, fir] = ['7000007', '8000008'];
  await service.addSchool(ash, withClasses('school', 'student', 'c1'));
  await service.addSchool(fir, withClasses('district', 'teacher', 'c1', 'c2'));
  const client = await service.addClient('nested', [ash, fir], 'School,Student,Staff');
  const asked: readonly (readonly [path: string, shown: readonly string[] | 404])[] = [
    ['/schools/x/classes', ['school c1']],
    ['/schools/x/classes/c1/enrollments', ['school-c1']],
    ['/schools/x/enrollments', ['school-c1']],
    ['/students/u/classes', ['school c1']],
    ['/teachers/u/classes', ['district c1', 'district c2']],
    ['/users/u/classes', ['school c1', 'district c1', 'district c2']],
    ['/terms/aut/classes', ['school c1', 'district c1', 'district c2']],
    ['/schools/x/classes/c2/enrollments', 404],
    ['/schools/x/classes/c2/students', 404],
  ];
  for (const [path, shown] of asked) {
    for (const query of ['', '?limit=5', "?filter=status%3D'active'", '?sort=sourcedId']) {
      const response = await client.v12(undefined, path + query);
      assert.equal(response.status, shown === 404 ? 404 : 200, path + query);
      if (shown === 404) continue;
      assert.equal(response.headers.get('x-total-count'), String(shown.length), path + query);
      const [rows = []] = Object.values((await response.json()) as Record<string, { sourcedId: string; title?: string }[]>);
      assert.deepEqual(rows.map(({ sourcedId, title }) => title ?? sourcedId), shown, path + query);
    }
  }
});
