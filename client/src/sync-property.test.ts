// Random rosters, grants, purges and imports in the middle, with kills of either side: after the next run the copy is the
// roster, field by field, and so is what a listener has who goes by what it was told alone.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import fc from 'fast-check';
import pg from 'pg';
import { purgeRosters } from '../../test/all-schools.ts';
import { csvPackage, type Rows } from '../../test/csv-package.ts';
import { repository, start, type Running } from '../../test/processes.ts';
import { createListener, openRoster, openRosters, readActive, readCopy, type Fetching } from '../../test/roster-copy.ts';
import { freePort } from '../../test/free-port.ts';
import { testSecretKey, useService } from '../../test/service.ts';
import { SchoolbellError, sync, type RosterChange, type Store } from './index.ts';
import { pgStore } from './stores/pg.ts';
import { sqliteStore } from './stores/sqlite.ts';

/** So many, or as many as fit into the time. By hand: more of both. */
const runs = 30;
const longestMs = 25_000;

const folder = mkdtempSync(join(tmpdir(), 'schoolbell-property-'));
after(async () => {
  await pool.end();
  rmSync(folder, { recursive: true, force: true });
});
const service = await useService({ PUBLIC_URL: 'https://bell.example' });
const { db } = service;
const pool = new pg.Pool({ connectionString: service.databaseUrl, max: 4 });

// ---- The service as a process that can be lost --------------------------------------------------------------------

const settings = {
  DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, PUBLIC_URL: 'https://bell.example', ROLE: 'api', RATE_LIMIT_PER_MINUTE: '0',
  LOG_LEVEL: 'silent',
};
let lost: { env: Record<string, string>; running: Running } | undefined;

async function requireOther(): Promise<Running> {
  const env = lost?.env ?? { ...settings, PORT: String(await freePort()) };
  if (!lost || lost.running.child.killed) lost = { env, running: await start(join(folder, 'data'), { env }) };
  return lost.running;
}

// ---- A school that changes ----------------------------------------------------------------------------------------

type ById = Map<string, Record<string, string>>;
type School = { parts: Set<string>; users: ById; classes: ById; enrollments: ById; demographics: ById };
type Random = { below(limit: number): number };

/** Repeatable. */
function createRandom(seed: number): Random {
  let state = seed;
  return {
    below(limit) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * limit);
    },
  };
}

const base: Record<string, Rows> = {
  orgs: [{ sourcedId: 'school', name: 'School', type: 'school' }],
  academicSessions: [{ sourcedId: 'term', title: 'Term', type: 'term', startDate: '2026-09-01', endDate: '2026-12-20', schoolYear: '2027' }],
  courses: [{ sourcedId: 'course', title: 'Course', orgSourcedId: 'school' }],
};
const roles = ['student', 'student', 'teacher', 'parent', 'aide', 'guardian'];

function change({ parts, users, classes, enrollments, demographics }: School, { below }: Random): void {
  const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T;
  const somebody = users.get(`u${below(10)}`);
  if (somebody && below(2) === 0) {
    // To whoever may not see everybody, others' references to them come or go with that.
    somebody.role = pick(roles);
    return;
  }
  if (!parts.delete(`part${below(3)}`)) parts.add(`part${below(3)}`);
  for (let changes = 1 + below(8); changes > 0; changes -= 1) {
    const id = `u${below(10)}`;
    if (users.has(id) && below(3) === 0) {
      users.delete(id);
      demographics.delete(id);
      for (const [key, { userSourcedId }] of enrollments) if (userSourcedId === id) enrollments.delete(key);
      for (const one of users.values()) if (one.agentSourcedIds === id) one.agentSourcedIds = '';
    } else {
      const agentSourcedIds = pick(['', ...[...users.keys()].filter((one) => one !== id)]);
      const given = { enabledUser: 'true', orgSourcedIds: 'school', username: id, givenName: pick(['Ada', 'Bea', 'Cyd']), familyName: `F${below(9)}` };
      users.set(id, { ...(users.get(id) ?? given), sourcedId: id, role: pick(roles), ...(below(4) > 0 ? { agentSourcedIds } : {}) });
      if (below(3) === 0) demographics.set(id, { sourcedId: id, birthDate: `2014-0${1 + below(9)}-01` });
    }
    const group = `k${below(4)}`;
    classes.set(group, {
      sourcedId: group, title: `Class ${below(3)}`, courseSourcedId: 'course', classType: 'scheduled', schoolSourcedId: 'school', termSourcedIds: 'term',
    });
    const [key, member] = [`e${below(30)}`, pick([...users.keys()])];
    if (member === undefined || below(4) === 0) enrollments.delete(key);
    else
      enrollments.set(key, {
        sourcedId: key, classSourcedId: pick([...classes.keys()]), schoolSourcedId: 'school', userSourcedId: member, role: pick(['student', 'teacher']),
      });
  }
}

const rowsOf = ({ parts, users, classes, enrollments, demographics }: School): Record<string, Rows> => ({
  ...base,
  orgs: [...(base.orgs ?? []), ...[...parts].map((id) => ({ sourcedId: id, name: id, type: 'department', parentSourcedId: 'school' }))],
  classes: [...classes.values()], users: [...users.values()], enrollments: [...enrollments.values()], demographics: [...demographics.values()],
});

/** Another school of every application of variant A. */
const beside = 'beside';
await service.addSchool(beside, csvPackage({
  orgs: [{ sourcedId: 'school-2', name: 'School', type: 'school' }],
  users: [{ sourcedId: 'v1', enabledUser: 'true', orgSourcedIds: 'school-2', username: 'v1', givenName: 'Vi', familyName: 'F', role: 'student' }],
}));

// ---- What may happen ----------------------------------------------------------------------------------------------

const people = ['Student', 'Staff', 'Contact', 'StudentDemographic'];
const seeds = fc.integer({ min: 0, max: 2 ** 31 });
const grants = fc.subarray(people, { minLength: 1 }).chain((some) => fc.boolean().map((withSchool) => (withSchool ? ['School', ...some] : some)));
const quiet = fc.oneof(
  { weight: 4, arbitrary: fc.record({ what: fc.constant('load' as const), seed: seeds }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('grant' as const), scopes: grants }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('purge' as const) }) },
);
const steps = fc.oneof(
  { weight: 5, arbitrary: quiet },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('sync' as const) }) },
  // In the middle of a run, before its request of this number.
  { weight: 2, arbitrary: fc.record({ what: fc.constant('meanwhile' as const), request: fc.integer({ min: 1, max: 40 }), event: quiet }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('client dies' as const), step: fc.integer({ min: 1, max: 260 }) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('service dies' as const), request: fc.integer({ min: 2, max: 30 }) }) },
);
type Quiet = typeof quiet extends fc.Arbitrary<infer T> ? T : never;
type Step = typeof steps extends fc.Arbitrary<infer T> ? T : never;

const counted = { runs: 0, checks: 0, 'client dies': 0, 'service dies': 0 };
let schools = 0;

type Kind = 'SQLite' | 'PostgreSQL';
type Variant = 'A' | 'B';

async function live(kind: Kind, variant: Variant, pageSize: number, scopes: string[], story: readonly Step[]): Promise<void> {
  const estab = `random-${(schools += 1)}`;
  const school: School = { parts: new Set(), users: new Map(), classes: new Map(), enrollments: new Map(), demographics: new Map() };
  for (let seed = schools; school.users.size < 6; seed += 1) change(school, createRandom(seed));
  assert.equal((await service.addSchool(estab, csvPackage(rowsOf(school))))?.outcome, 'done');
  const client = await service.addClient(`app-${estab}`, variant === 'A' ? [estab, beside] : [estab]);
  await happen({ what: 'grant', scopes });
  const [file, toldFile, prefix] = [join(folder, `${estab}.db`), join(folder, `${estab}.told`), `copy_${schools}_`];
  const handle = kind === 'SQLite' ? new DatabaseSync(file) : undefined;
  const store: Store = handle ? sqliteStore(handle) : pgStore(pool, { prefix });
  /** As if the time of a lease had passed. */
  const expire = async () => {
    if (handle) handle.exec('update schoolbell_state set until = 0');
    else await pool.query(`update ${prefix}state set until = 0`);
  };
  const run = (url: string, fetching: Fetching = fetch) =>
    sync({
      roster: variant === 'A' ? openRosters(url, client, fetching) : openRoster(url, client, estab, fetching), store, pageSize, guard: { allow: true },
      onChange: (changes) => appendFileSync(toldFile, `${JSON.stringify(changes)}\n`),
    });
  const before = (request: number, does: () => unknown): Fetching => {
    let asked = 0;
    return async (url, init) => {
      asked += 1;
      if (asked === request) await does();
      return fetch(url, init);
    };
  };

  async function happen(given: Quiet): Promise<void> {
    if (given.what === 'purge') await purgeRosters(db, 0);
    else if (given.what === 'grant') {
      // Under variant A what no school grants is an error.
      const granted = variant === 'A' ? [...new Set(['School', 'Student', ...given.scopes])] : given.scopes;
      await db`update authorisation set scopes = ${granted} where estab = ${estab} and rp = ${client.rp}`;
    } else {
      change(school, createRandom(given.seed));
      assert.match((await service.load(estab, csvPackage(rowsOf(school)), { approve: true })).outcome, /done|unchanged/);
    }
  }

  async function check(): Promise<void> {
    await run(service.url);
    const roster = await readActive((path) => (variant === 'A' ? client.a(path) : client.b(estab, path)));
    assert.deepEqual(await readCopy(store), roster);
    const told = existsSync(toldFile) ? readFileSync(toldFile, 'utf8').split('\n').filter(Boolean) : [];
    assert.deepEqual(createListener(told.flatMap((line) => JSON.parse(line) as RosterChange[])).replayed(), roster, 'told');
    counted.checks += 1;
  }

  for (const step of story) {
    if (step.what === 'sync') await check();
    else if (step.what === 'meanwhile') await run(service.url, before(step.request, () => happen(step.event)));
    else if (step.what === 'client dies') {
      const where = handle ? ['--file', file] : ['--database', service.databaseUrl, '--prefix', prefix];
      const [id, secret] = variant === 'A' ? [client.clientId, client.clientSecret] : ['', client.schoolSecrets[estab] ?? ''];
      const how = ['--rp', client.rp, '--id', id, '--estab', estab, '--secret', secret, '--step', String(step.step), '--page', String(pageSize)];
      const worker = join(repository, 'test', 'sync-worker.ts');
      const child = spawn(process.execPath, [worker, '--url', service.url, '--told', toldFile, ...where, ...how], { stdio: ['ignore', 'inherit', 'inherit'] });
      assert.equal(await new Promise((resolve) => child.once('close', (code, signal) => resolve(signal ?? code))), 'SIGKILL');
      // It may have died before it made any table.
      await expire().catch(() => {});
      counted['client dies'] += 1;
    } else if (step.what === 'service dies') {
      const other = await requireOther();
      let again: Promise<unknown> | undefined;
      const outcome = run(other.url, before(step.request, () => {
        other.child.kill('SIGKILL');
        again = other.exited.then(requireOther);
        counted['service dies'] += 1;
      }));
      await outcome.catch((error: unknown) => assert.ok(error instanceof SchoolbellError, String(error)));
      await again;
    } else await happen(step);
  }
  await check();
  handle?.close();
  counted.runs += 1;
}

/** However slow the machine is: each store, each variant, and either side's death. */
const known: [Kind, Variant, number, string[], Step[]][] = [
  ['SQLite', 'B', 4, ['School', 'Student', 'Staff'], [
    { what: 'sync' }, { what: 'load', seed: 1 }, { what: 'load', seed: 2 }, { what: 'client dies', step: 90 }, { what: 'load', seed: 3 },
    { what: 'service dies', request: 12 }, { what: 'purge' }, { what: 'meanwhile', request: 12, event: { what: 'grant', scopes: ['Student'] } },
  ]],
  ['PostgreSQL', 'A', 4, people, [
    { what: 'sync' }, { what: 'load', seed: 4 }, { what: 'load', seed: 5 }, { what: 'client dies', step: 90 }, { what: 'load', seed: 6 },
    { what: 'service dies', request: 10 }, { what: 'meanwhile', request: 12, event: { what: 'load', seed: 7 } },
  ]],
];

test('after the next run the copy is the roster, whoever died when', async (context) => {
  const kinds = fc.constantFrom<Kind>('SQLite', 'PostgreSQL');
  const variants = fc.constantFrom<Variant>('B', 'B', 'B', 'A');
  const stories = fc.array(steps, { minLength: 4, maxLength: 9 });
  for (const story of known) await live(...story);
  const end = Date.now() + longestMs;
  const lived: typeof live = async (...given) => {
    if (Date.now() < end) await live(...given);
  };
  // A shorter story would be sought for minutes; the seed tells this one again.
  await fc.assert(fc.asyncProperty(kinds, variants, fc.integer({ min: 1, max: 20 }), grants, stories, lived), { numRuns: runs, endOnFailure: true });
  context.diagnostic(JSON.stringify(counted));
  for (const [what, times] of Object.entries(counted)) assert.ok(times > 0, `${what}: never tried`);
});
