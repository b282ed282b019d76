// Covers imports of a package of which most rows are as they were: change by change, against a school that reads all of them.
import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { bothWays } from '../../test/both-ways.ts';
import { csvPackage } from '../../test/csv-package.ts';
import { heardStatements } from '../../test/heard-statements.ts';
import { useService } from '../../test/service.ts';
import { enrolment, schoolClass, smallSchool, user, type Row, type SchoolFiles } from '../../test/small-school.ts';
import type { CollectionName } from '../roster/resource.ts';
import { openCsvSource } from './connectors/csv/csv-source.ts';
import type { CsvPackage } from './connectors/csv/package.ts';
import { seededRandom, type Random } from './connectors/demo/seeded-random.ts';
import { importRoster } from './import.ts';
import type { ImportReport } from './import-report.ts';

const service = await useService();
const { db } = service;
const { loadBoth } = bothWays(service);
const [people, lessons] = [300, 400];
let schools = 0;

/** Large enough for several pieces in its two large files. */
function madeUpSchool(): SchoolFiles {
  const classes = Array.from({ length: 20 }, (_, at) => schoolClass(`k${at}`, `Class ${at}`));
  const users = Array.from({ length: people }, (_, at) =>
    user(`p${at}`, at % 30 === 0 ? 'administrator' : at % 7 === 0 ? 'parent' : 'student', at % 7 === 0 && at % 30 > 0 ? { agentSourcedIds: `p${at + 1}` } : {}),
  );
  const enrollments = Array.from({ length: lessons }, (_, at) => enrolment(`e${at}`, `p${(at * 7 + 1) % people}`, `k${at % 20}`));
  return { ...smallSchool, classes, users, enrollments, demographics: [{ sourcedId: 'p1', sex: 'female' }, { sourcedId: 'p2', sex: 'male' }] };
}

async function newSchool(files: SchoolFiles): Promise<string> {
  const estab = `K${(schools += 1)}`;
  assert.equal((await service.addSchool(estab, csvPackage(files)))?.outcome, 'done');
  return estab;
}

type Change = (files: SchoolFiles, random: Random) => void;
const large = ['users', 'enrollments'] as const;

const replace = (rows: Row[], at: number, more: Row) => void rows.splice(at, 1, { ...rows[at], ...more } as Row);
const removeSome = (rows: Row[], which: (row: Row) => boolean) => void rows.splice(0, rows.length, ...rows.filter((row) => !which(row)));

const changes: Readonly<Record<string, Change>> = {
  'a name': ({ users }, random) => replace(users, random.below(users.length), { givenName: `Given ${random.below(1000)}` }),
  'a text of several lines': ({ users }, random) => replace(users, random.below(users.length), { familyName: 'of "two"\nlines, and "' }),
  'a date': ({ enrollments }, random) => replace(enrollments, random.below(enrollments.length), { endDate: `2027-0${1 + random.below(7)}-01` }),
  'a class that somebody is in': ({ enrollments }, random) =>
    replace(enrollments, random.below(enrollments.length), { classSourcedId: `k${random.below(20)}` }),
  'enrolments that go': ({ enrollments }, random) => void enrollments.splice(random.below(enrollments.length), 3),
  'an enrolment that comes': ({ enrollments }, random) =>
    void enrollments.splice(random.below(enrollments.length), 0, enrolment(`n${random.below(1_000_000)}`, 'p1', 'k1')),
  'somebody who goes with all that is theirs': ({ users, enrollments }, random) => {
    const id = random.pick(users.filter(({ role }) => role === 'student')).sourcedId;
    removeSome(users, (row) => row.sourcedId === id || row.agentSourcedIds === id);
    const left = new Set(users.map(({ sourcedId }) => sourcedId));
    removeSome(enrollments, ({ userSourcedId = '' }) => !left.has(userSourcedId));
  },
  'somebody who goes and is still enrolled': ({ users, enrollments }, random) => {
    const id = random.pick(enrollments).userSourcedId;
    removeSome(users, ({ sourcedId }) => sourcedId === id);
  },
  'somebody who goes while all that is theirs changes': ({ users, enrollments }, random) => {
    const times = Map.groupBy(enrollments, ({ userSourcedId }) => userSourcedId);
    const at = random.below(enrollments.length);
    const one = enrollments.findIndex(({ userSourcedId, status }, place) => place >= at && !status && times.get(userSourcedId)?.length === 1);
    if (one < 0) return;
    const id = enrollments[one]?.userSourcedId;
    replace(enrollments, one, { endDate: '2027-03-03' });
    removeSome(users, ({ sourcedId }) => sourcedId === id);
    removeSome(users, ({ agentSourcedIds }) => agentSourcedIds === id);
  },
  'a class that goes with its enrolments': ({ classes, enrollments }, random) => {
    const id = random.pick(classes).sourcedId;
    removeSome(classes, ({ sourcedId }) => sourcedId === id);
    removeSome(enrollments, ({ classSourcedId }) => classSourcedId === id);
  },
  'a class that goes alone': ({ classes }, random) => void classes.splice(random.below(classes.length), 1),
  'rows that were marked and go': (files) => {
    for (const name of large) removeSome(files[name], ({ status }) => status === 'tobedeleted');
  },
  'a row that is there twice': (files, random) => {
    const rows = files[random.pick(large)];
    rows.splice(random.below(rows.length), 0, random.pick(rows));
  },
  'an id that becomes that of another': ({ enrollments }, random) =>
    replace(enrollments, random.below(20), { sourcedId: enrollments.at(-1 - random.below(20))?.sourcedId ?? '' }),
  'a reference to nothing': ({ enrollments }, random) => replace(enrollments, random.below(enrollments.length), { userSourcedId: 'nobody' }),
  'a row that is wrong': ({ users }, random) => replace(users, random.below(users.length), { role: 'nonsense' }),
  'a row that is marked': (files, random) => {
    const rows = files[random.pick(large)];
    replace(rows, random.below(rows.length), { status: 'tobedeleted' });
  },
  'somebody who is marked and then goes': ({ users }, random) => {
    const marked = users.findIndex(({ status }) => status === 'tobedeleted');
    if (marked < 0) replace(users, random.below(users.length), { status: 'tobedeleted' });
    else users.splice(marked, 1);
  },
  'rows that are marked no longer': (files) => {
    for (const name of large) files[name] = files[name].map((row) => ({ ...row, status: '' }));
  },
  'somebody who becomes staff': ({ users }, random) => replace(users, random.below(users.length), { role: random.pick(['teacher', 'administrator']) }),
  'an organisation of another type': ({ orgs }, random) => replace(orgs, 0, { type: random.pick(['school', 'district']) }),
  'a new order': (files, random) => {
    const name = random.pick(large);
    files[name] = random.shuffle(files[name]);
  },
  'a part that moves': ({ enrollments }, random) => void enrollments.push(...enrollments.splice(random.below(100), 100)),
  'a column more': ({ users }, random) => replace(users, random.below(users.length), { 'metadata.more': 'more' }),
  'half of it': ({ enrollments }) => void enrollments.splice(0, enrollments.length / 2),
  'nothing': () => {},
};

const copyOf = (files: SchoolFiles): SchoolFiles =>
  Object.fromEntries((Object.entries(files) as [CollectionName, Row[]][]).map(([name, rows]) => [name, [...rows]])) as SchoolFiles;

/** Each alone, and then some together. */
const turns = Object.keys(changes).length + 5;
test('whatever changes, what was left out as known is as if it had been read', { timeout: 600_000 }, async () => {
  const random = seededRandom('changes of packages');
  let files = madeUpSchool();
  const [one, whole] = [await newSchool(files), await newSchool(files)];
  const names = Object.keys(changes);
  let relied = 0;
  for (let turn = 0; turn < turns; turn += 1) {
    const next = copyOf(files);
    const chosen = turn < names.length ? names.slice(turn, turn + 1) : [random.pick(names), random.pick(names)];
    for (const name of chosen) changes[name]?.(next, random);
    const options = { partial: random.chance(0.3), force: random.chance(0.2) };
    let report: ImportReport | undefined;
    const heard = await heardStatements(async () => {
      report = await loadBoth(one, whole, csvPackage(next), options).catch((error: unknown) => {
        throw new Error(`turn ${turn}: ${chosen.join(', ')}`, { cause: error });
      });
    });
    if (heard.some((text) => text.includes('d.roster_merged ='))) relied += 1;
    if (report?.outcome === 'done' && report.problemsTotal > 0) await loadBoth(one, whole, csvPackage(files), { force: true });
    else if (report?.outcome === 'done') files = next;
  }
  assert.ok(relied > turns / 2, `${relied} of ${turns}`);
});

/** How many records are staged. */
async function countStaged(estab: string, given: CsvPackage): Promise<number> {
  let staged = 0;
  const report = await importRoster(db, () => openCsvSource(given), {
    estab, dataDir: service.dataDir, partial: false, force: false, shrinkLimitPercent: 20,
    onProgress: ({ step, of }) => {
      if (step === 'copying') staged = of ?? 0;
    },
  });
  assert.equal(report.outcome, 'done', JSON.stringify(report.problems));
  return staged;
}

test('of what hardly changed only what stands around it is staged', async () => {
  const files = madeUpSchool();
  const estab = await newSchool(files);
  for (const name of ['a date', 'somebody who goes with all that is theirs', 'a text of several lines', 'an enrolment that comes']) {
    changes[name]?.(files, seededRandom(name));
    const staged = await countStaged(estab, csvPackage(files));
    assert.ok(staged > 0 && staged < (people + lessons) * 0.75, `${name}: ${staged}`);
  }
});

test('the same rows under other columns are other rows', async () => {
  const { users, ...others } = madeUpSchool();
  const [one, whole] = [await newSchool({ users, ...others }), await newSchool({ users, ...others })];
  const file = csvPackage({ users }).files.get('users.csv');
  const rows = file ? await text(await file.open()) : '';
  const swapped = rows.replace('givenName,familyName', 'familyName,givenName');
  const report = await loadBoth(one, whole, csvPackage(others, { raw: { 'users.csv': swapped } }));
  assert.equal(report.changed, people);
});

test('when many of the few rows that changed are wrong, they are not looked for row by row', async () => {
  const [wrong, all] = [1_200, 8_000];
  const enrollments = Array.from({ length: all }, (_, at) => enrolment(`e${at}`, `p${at % people}`, `k${at % 20}`));
  const files = { ...madeUpSchool(), enrollments };
  const estab = await newSchool(files);
  const given = enrollments.map((row, at) => (at < wrong ? { ...row, classSourcedId: 'nowhere' } : row));
  const heard = await heardStatements(async () => {
    const report = await service.load(estab, csvPackage({ ...files, enrollments: given }));
    assert.deepEqual([report.outcome, report.problemsTotal], ['refused', wrong]);
  });
  const at = (start: string) => heard.findIndex((text) => text.trimStart().startsWith(start));
  assert.ok(heard.some((text) => text.includes('d.roster_merged =')), 'what did not change was not read');
  assert.ok(at('set local enable_nestloop = off') >= 0 && at('set local enable_nestloop = off') < at('delete from "stage_enrollment"'));
});
