// Covers packages of OneRoster 1.2 as they are read: their manifest, the rules for roles.csv and userProfiles.csv, and how their rows come
// together with their person, however large the files are.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { csvPackage, type PackageOptions, type Rows } from '../../../../test/csv-package.ts';
import { noRoster } from '../../../../test/no-roster.ts';
import { collections } from '../../../roster/collections.ts';
import { Problems, SourceError } from '../../problem.ts';
import type { Around, RejectedRow, SourceRow } from '../../source.ts';
import { openSpoolFile } from '../../spool.ts';
import { openCsvSource } from './csv-source.ts';
import type { CsvPackage } from './package.ts';

type Files = Partial<Record<string, Rows>>;
type Row = Rows[number];
const folder = mkdtempSync(join(tmpdir(), 'schoolbell-people-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const person = (sourcedId: string, more: Row = {}): Row => ({ sourcedId, enabledUser: 'true', username: sourcedId, givenName: 'G', familyName: 'F', ...more });
const role = (sourcedId: string, userSourcedId: string, more: Row = {}): Row => ({
  sourcedId, userSourcedId, roleType: 'primary', role: 'student', orgSourcedId: 'o1', ...more,
});
const profile = (sourcedId: string, userSourcedId: string, more: Row = {}): Row => ({
  sourcedId, userSourcedId, profileType: 'LMS', vendorId: 'v', credentialType: 'password', username: 'n', password: 'never-leaves', ...more,
});
const orgs = [{ sourcedId: 'o1', name: 'School', type: 'school' }];
const packed = (files: Files, options: PackageOptions = {}) => csvPackage({ orgs, ...files }, { edition: 'v1p2', ...options });

async function readUsers(given: CsvPackage, around: Around = noRoster): Promise<{ rows: SourceRow[]; rejected: RejectedRow[]; problems: Problems }> {
  const source = await openCsvSource(given);
  const problems = new Problems();
  const [rows, rejected]: [SourceRow[], RejectedRow[]] = [[], []];
  for (const { resource, read } of source.collections) {
    for await (const batch of read(problems, around)) {
      if (resource !== collections.users) continue;
      rows.push(...batch.rows);
      rejected.push(...batch.rejected);
    }
  }
  return { rows, rejected, problems };
}

const valueOf = ({ values }: SourceRow, name: string) => values[collections.users.fields.findIndex((field) => field.name === name)];

type Modes = Record<string, 'bulk' | 'delta' | 'absent'>;
const manifestFaults: [name: string, modes: Modes, column: string, rule: RegExp][] = [
  ['bulk users without roles', { users: 'bulk' }, 'file.roles', /must be bulk, as users\.csv is/],
  ['bulk users with delta roles', { users: 'bulk', roles: 'delta' }, 'file.roles', /must be bulk, as users\.csv is/],
  ['bulk roles with delta users', { users: 'delta', roles: 'bulk' }, 'file.roles', /only together with users\.csv/],
  ['bulk roles alone', { roles: 'bulk' }, 'file.roles', /only together with users\.csv/],
  ['bulk users with delta profiles', { users: 'bulk', roles: 'bulk', userProfiles: 'delta' }, 'file.userProfiles', /must be bulk, as users\.csv is/],
  ['bulk profiles alone', { userProfiles: 'bulk' }, 'file.userProfiles', /only together with users\.csv/],
];
for (const [name, modes, column, rule] of manifestFaults) {
  test(`the manifest of 1.2: ${name} is refused by name`, async () => {
    const files = Object.fromEntries(Object.keys(modes).map((file) => [file, []]));
    await assert.rejects(openCsvSource(packed(files, { modes })), (error) => {
      assert.ok(error instanceof SourceError);
      assert.deepEqual([error.problem.file, error.problem.column, rule.test(error.problem.rule)], ['manifest.csv', column, true], error.problem.rule);
      return true;
    });
  });
}

test('1.2.1 is 1.2, its other files are read past, and a file of it is none of 1.1', async () => {
  const manifest = ['propertyName,value', 'manifest.version,1.0', 'oneroster.version,1.2.1', 'file.orgs,bulk', 'file.scoreScales,bulk', ''].join('\n');
  const source = await openCsvSource(packed({}, { raw: { 'manifest.csv': manifest, 'scoreScales.csv': 'anything' } }));
  assert.deepEqual([source.collections.map(({ resource }) => resource.collection), source.ignored], [['orgs'], ['scoreScales.csv']]);
  const strangers = [['v1p1', 'roles.csv', /file of OneRoster 1\.1 /], ['v1p2', 'Roles.csv', /file of OneRoster 1\.2 .*userProfiles\.csv/]] as const;
  for (const [edition, file, rule] of strangers)
    await assert.rejects(openCsvSource(csvPackage({ orgs }, { edition, raw: { [file]: 'x' } })), (error) => {
      assert.ok(error instanceof SourceError);
      assert.deepEqual([error.problem.file, rule.test(error.problem.rule)], [file, true], error.problem.rule);
      return true;
    });
});

test('both headers of users.csv are read, and what 1.1 shows follows from the roles in the order of their file', async () => {
  const [, older = ''] = collections.users.headers.v1p2;
  const cells = older.split(',').map((name) => ({ ...person('u1'), primaryOrgSourcedId: 'o2', resourceSourcedIds: 'anything', pronouns: 'they' })[name] ?? '');
  const head = { role: 'principal', orgSourcedId: 'o2', userProfileSourcedId: 'p/1', endDate: '2027-07-31' };
  const roles = [role('r2', 'u1', { role: 'parent' }), role('r1', 'u1', head)];
  const { rows, problems } = await readUsers(
    packed(
      {
        orgs: [...orgs, { sourcedId: 'o2', name: 'Other', type: 'school' }],
        roles,
        userProfiles: [profile('p/1', 'u1', { description: 'd', 'metadata.x': 'y' })],
      },
      { raw: { 'users.csv': `${older}\n${cells.join(',')}\n` } },
    ),
  );
  assert.deepEqual(problems.listed, []);
  const [row] = rows;
  assert.ok(row);
  assert.deepEqual(['role', 'orgs', 'pronouns', 'primaryOrg'].map((name) => valueOf(row, name)), ['administrator', ['o1', 'o2'], 'they', 'o2']);
  assert.deepEqual(valueOf(row, 'roles'), [
    { id: 'r2', roleType: 'primary', role: 'parent', org: 'o1' },
    { id: 'r1', roleType: 'primary', role: 'principal', org: 'o2', userProfile: 'p/1', endDate: '2027-07-31' },
  ]);
  const credentials = [{ type: 'password', username: 'n' }];
  assert.deepEqual(valueOf(row, 'userProfiles'), [{ profileId: 'p/1', profileType: 'LMS', vendorId: 'v', description: 'd', credentials }]);
  assert.doesNotMatch(JSON.stringify(rows), /never-leaves/);
});

/** Beside somebody who is right. */
type Place = [file: string, line: number, column: string | null, value: string | null];
const faulty: [name: string, files: Files, fault: Place, rule: RegExp, rejected: string[]][] = [
  ['a role that is no word of 1.2', { roles: [role('r', 'u', { role: 'administrator' })] }, ['roles.csv', 3, 'role', 'administrator'], /ext:/, ['u']],
  ['an own type of role', { roles: [role('r', 'u', { roleType: 'ext:third' })] }, ['roles.csv', 3, 'roleType', 'ext:third'], /primary, secondary$/, ['u']],
  ['a role without an organisation', { roles: [role('r', 'u', { orgSourcedId: ' ' })] }, ['roles.csv', 3, 'orgSourcedId', ' '], /blank/, ['u']],
  ['a role of nobody', { roles: [role('r', 'u'), role('s', '')] }, ['roles.csv', 4, 'userSourcedId', ''], /blank/, ['']],
  ['a day that does not exist', { roles: [role('r', 'u', { endDate: '2027-02-30' })] }, ['roles.csv', 3, 'endDate', '2027-02-30'], /calendar/, ['u']],
  ['a role at an unknown place', { roles: [role('r', 'u', { orgSourcedId: 'o9' })] }, ['roles.csv', 3, 'orgSourcedId', 'o9'], /no such .* orgs\.csv/, ['u']],
  ['a role of an unknown person', { roles: [role('r', 'u'), role('s', 'x')] }, ['roles.csv', 4, 'userSourcedId', 'x'], /no such record in users\.csv/, ['x']],
  ['a role id given twice', { roles: [role('r', 'u'), role('r0', 'u')] }, ['roles.csv', 4, 'sourcedId', 'r0'], /unique; line 2 has it/, ['u']],
  [
    'a profile of somebody else',
    { roles: [role('r', 'u', { userProfileSourcedId: 'p0' })], userProfiles: [profile('p0', 'fine')] },
    ['roles.csv', 3, 'userProfileSourcedId', 'p0'], /profile of the same person.*userProfiles\.csv$/, ['u'],
  ],
  [
    'a profile without a credential',
    { roles: [role('r', 'u')], userProfiles: [profile('p', 'u', { credentialType: '' })] },
    ['userProfiles.csv', 2, 'credentialType', ''], /blank/, ['u'],
  ],
  ['a person without a role', { roles: [] }, ['users.csv', 3, null, 'u'], /must have a role: no row of roles\.csv/, ['u']],
  [
    'a password that cannot be read',
    { roles: [role('r', 'u')], userProfiles: [profile('p', 'u', { password: `never-leaves${'x'.repeat(5000)}` })] },
    ['userProfiles.csv', 2, 'password', null], /longer/, ['u'],
  ],
];
for (const [name, files, fault, rule, rejected] of faulty) {
  test(`in a bulk package ${name} is a problem of its file, line and column, and takes its person along`, async () => {
    const read = await readUsers(packed({ users: [person('fine'), person('u')], ...files, roles: [role('r0', 'fine'), ...(files.roles ?? [])] }));
    const [first] = read.problems.listed;
    assert.ok(first);
    assert.equal(read.problems.total, 1, JSON.stringify(read.problems.listed));
    assert.deepEqual([[first.file, first.line, first.column, first.value], rule.test(first.rule)], [fault, true], first.rule);
    assert.deepEqual(read.rejected.map(({ sourcedId, fault: number }) => [sourcedId ?? '', number]), rejected.map((id) => [id, 1]));
    assert.deepEqual(read.rows.map(({ sourcedId }) => sourcedId), ['fine', 'u'].filter((id) => !rejected.includes(id)));
  });
}

test('what is lenient: several primary roles, a main organisation without a role, an own word', async () => {
  const roles = [role('r1', 'u'), role('r2', 'u', { role: 'ext:librarian' })];
  const { rows, problems } = await readUsers(packed({ users: [person('u', { primaryOrgSourcedId: 'o7' })], roles }));
  assert.deepEqual([problems.listed, rows.map((row) => valueOf(row, 'role'))], [[], ['student']]);
});

test('files that are too large for memory give the same people', async () => {
  const ids = Array.from({ length: 500 }, (_, at) => `u${at}`);
  const users = ids.map((id) => person(id, { middleName: 'Ä"\\\n' }));
  const roles = [...ids.map((id) => role(`a-${id}`, id)), ...ids.toReversed().map((id) => role(`b-${id}`, id, { role: 'aide' })), role('a-u7', 'u8')];
  const given = packed({ users, roles, userProfiles: ids.map((id) => profile(`p-${id}`, id)) });
  const claimed: CsvPackage = { ...given, files: new Map([...given.files].map(([name, file]) => [name, { ...file, size: 20 * 1024 ** 2 }])) };
  let spools = 0;
  const openSpool = () => {
    spools += 1;
    return openSpoolFile(folder);
  };
  const [small, large] = [await readUsers(given), await readUsers(claimed, { ...noRoster, openSpool })];
  const sorted = ({ rows, rejected, problems }: typeof small) =>
    JSON.parse(JSON.stringify([rows.toSorted((a, b) => a.line - b.line), rejected, problems.listed]));
  assert.deepEqual([spools, sorted(large)], [30, sorted(small)]);
  assert.deepEqual([small.rows.length, small.rejected.map(({ sourcedId }) => sourcedId), small.problems.total], [499, ['u8'], 1]);
});
