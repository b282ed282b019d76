// In charge of what this version will do to a database when it is first started on it: which migrations, to which tables, who waits
// for how long; who else uses the database; and what has to be done before. It reads, and changes nothing.
import { isFolderHere } from '../backup/folder.ts';
import { readBackupStanding, type BackupStanding } from '../backup/runs.ts';
import type { Db } from '../db/connect.ts';
import { knowsNotes } from '../db/distribution.ts';
import { foresee, longestHoldMs, type Foreseen, type Sizes } from '../db/foresee.ts';
import { readMigrations, requireReleased, type Migration } from '../db/migrations.ts';
import { knowsVersion, listVersions, listVersionedProcesses, type KnownVersion, type VersionedProcess } from '../db/service-versions.ts';
import { formatDuration, formatMany } from '../http/pages/figures.ts';
import { version } from '../version.ts';
import { checkBeforeUpgrade, type Checked } from './check-live.ts';
import { fail, ok, warn, type Finding, type Judged } from './finding.ts';

export type ForeseenUpgrade = Readonly<{
  version: string;
  /** At which migration the database is, and the newest that this version knows. */
  at: number;
  newest: number;
  versions: readonly KnownVersion[];
  pending: readonly Foreseen[];
  processes: readonly VersionedProcess[];
  checks: readonly Finding[];
  /** What the first start does, in order. */
  firstStart: readonly string[];
}>;

type Applied = { version: number; name: string; checksum: string; breaksBefore: number | null };

export async function checkUpgrade(checked: Checked, now: Date, migrations: readonly Migration[] = readMigrations()): Promise<ForeseenUpgrade> {
  const { db } = checked;
  const applied = await db<Applied[]>`
    select version, name, checksum, (to_jsonb(m) ->> 'breaks_before')::int as "breaksBefore" from migration m order by version`;
  requireReleased('database', applied, migrations);
  const sizes = await readSizes(db);
  const pending = migrations.filter((one) => !applied.some((done) => done.version === one.version)).map((one) => foresee(one, sizes));
  const [at, newest] = [applied.at(-1)?.version ?? 0, migrations.at(-1)?.version ?? 0];
  const processes = await listVersionedProcesses(db);
  const standing = await readBackupStanding(db, now);
  const here = standing !== undefined && !standing.plan.moved && (await isFolderHere(standing.plan));
  const spread = await knowsNotes(db);
  const isNew = pending.length > 0 || !(await knowsVersion(db));
  const checks = [
    { check: 'schema', ...judgeSchema(applied, pending, at, newest) },
    { check: 'waits', ...judgeWaits(pending) },
    { check: 'other versions', ...judgeOthers(applied, pending, processes, at) },
    { check: 'backup', ...judgeBackup(standing, here, isNew, spread) },
    ...(await checkBeforeUpgrade(checked)),
  ];
  return {
    version, at, newest, versions: await listVersions(db), pending, processes, checks,
    firstStart: describeStart(pending, isNew, here ? standing : undefined, spread),
  };
}

async function readSizes(db: Db): Promise<Sizes> {
  const rows = await db<{ name: string; bytes: number }[]>`
    select c.relname::text as name, pg_total_relation_size(c.oid)::float8 as bytes from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and n.nspname = current_schema()`;
  return new Map(rows.map(({ name, bytes }) => [name, bytes]));
}

function judgeSchema(applied: readonly Applied[], pending: readonly Foreseen[], at: number, newest: number): Judged {
  const breaking = applied.findLast((one) => one.version > newest && (one.breaksBefore ?? 0) > newest);
  if (breaking) return fail(`at migration ${at}, with which this version does not work: it has ${newest}`, 'install a newer one');
  if (at > newest) return ok(`at migration ${at}, newer than this version's ${newest}, which works on it`);
  const come = pending.length === 0 ? 'nothing is added' : `${formatMany(pending.length, 'migration')} to come, up to ${newest}`;
  return ok(`at migration ${at}: ${come}`);
}

function judgeWaits(pending: readonly Foreseen[]): Judged {
  const long = pending.filter(({ holdsMs }) => holdsMs > longestHoldMs);
  if (long.length === 0) return ok('nobody waits for longer than a second');
  const words = long.map(({ name, holdsMs }) => `${name} for about ${formatDuration(holdsMs)}`).join(', ');
  return fail(`requests would wait: ${words}`, 'upgrade when nobody needs the service, with every process stopped before');
}

/**
 * A migration may shut out the versions that lack an earlier one (`-- breaks versions before NNNN`). A process goes on working only if it knows
 * that one, which does not follow from the database: another process may have migrated it. A process that has not reported counts as knowing none.
 */
function judgeOthers(applied: readonly Applied[], pending: readonly Foreseen[], processes: readonly VersionedProcess[], at: number): Judged {
  const others = processes.filter((one) => one.version !== version);
  const shutOutBy = ({ breaksBefore }: { breaksBefore: number | null }, known: number | null) => breaksBefore !== null && breaksBefore > (known ?? 0);
  const breaking = pending.find((one) => shutOutBy(one, at) || others.some(({ migration }) => shutOutBy(one, migration)));
  const todo = 'stop them before this version starts, or install the release between first';
  if (others.length === 0)
    return ok(breaking ? `${describeBreaking(breaking)}; none is running` : 'none is running');
  const ending = others.filter(({ migration }) => pending.some((one) => shutOutBy(one, migration)));
  if (breaking && ending.length > 0) return fail(`${describeProcesses(ending)}: ${describeBreaking(breaking)}`, todo);
  const shutOut = others.filter(({ migration }) => applied.some((one) => shutOutBy(one, migration)));
  if (shutOut.length > 0)
    return fail(`${describeProcesses(shutOut)} could not start again: the database has a migration that shuts them out`, 'replace them with this version');
  return ok(`${describeProcesses(others)}, which go on working`);
}

const describeBreaking = ({ name, breaksBefore }: Foreseen) => `${name} ends versions that do not have migration ${breaksBefore}`;
const describeProcesses = (processes: readonly VersionedProcess[]) =>
  `${formatMany(processes.length, 'process', 'processes')} of ${listNames(processes)}`;
const listNames = (processes: readonly VersionedProcess[]) => [...new Set(processes.map((one) => one.version ?? 'an older version'))].join(', ');

function judgeBackup(standing: BackupStanding | undefined, here: boolean, isNew: boolean, spread: boolean): Judged {
  if (!isNew) return ok('none is taken: this version has been started here before');
  const todo = 'take one before: npx schoolbell backup <file>, with the version that runs now';
  if (!standing) return warn('none is set up: the first start takes none', todo);
  const { plan, newest, ageMs } = standing;
  if (plan.moved) return warn('this database is a copy of the one that they were set up for: the first start takes none', todo);
  if (!here) return warn(`${plan.folder} is not on this machine: a start here takes none`, 'start the new version first on the machine that has the folder');
  if (spread)
    return warn('the database is spread over several nodes: a start takes one only where nobody else is connected', 'back up the nodes themselves before');
  return ok(newest ? `the newest good one is ${formatDuration(ageMs)} old; the first start takes another` : 'none is good yet; the first start takes one');
}

function describeStart(pending: readonly Foreseen[], isNew: boolean, standing: BackupStanding | undefined, spread: boolean): string[] {
  const took = standing?.newest?.tookMs;
  const lastTook = took ? `, which took ${formatDuration(took)} the last time` : '';
  const takes = pending.flatMap(({ steps }) => steps).reduce((sum, { takesMs }) => sum + takesMs, 0);
  return [
    ...(isNew && standing ? [`writes a backup to ${standing.plan.folder}${lastTook}${spread ? ', if nobody else is connected' : ''}`] : []),
    ...(pending.length > 0 ? [`applies ${formatMany(pending.length, 'migration')}, ${takes === 0 ? 'in a moment' : `in about ${formatDuration(takes)}`}`] : []),
    isNew ? 'notes that this version has been started here' : 'changes nothing in the database',
    'serves',
  ];
}
