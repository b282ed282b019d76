// In charge of what must be right before a service goes live, and of what of it can go wrong again while it runs: each check
// with what was found and what is to be done.
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Config } from '../config.ts';
import { findConnectionShortage } from '../db/check-server.ts';
import type { Db } from '../db/connect.ts';
import { provesWritable } from '../db/migrate.ts';
import { connectionsOf, policies } from '../db/policies.ts';
import { readDiskRoom } from '../disk-room.ts';
import { formatBytes } from '../http/pages/figures.ts';
import { findMailTrouble } from '../mail/mail.ts';
import { fail, ok, warn, type Finding, type Judged } from './finding.ts';
import { judgeBackups, judgeBackupsLive } from './judge-backups.ts';
import { judgeNodes } from './judge-nodes.ts';

export type Checked = Readonly<{ db: Db; config: Config }>;

const gib = 1024 ** 3;
/** An import needs about five times its package, and PostgreSQL stops where there is nothing left. */
const room = { least: gib, comfortable: 5 * gib } as const;
/** Receivers of calls take a signature that is five minutes off; a token that begins in the future is refused by some at once. */
const clockSeconds = { exact: 2, usable: 30 } as const;
const fewestLetters = 10;
const longestMigrationMinutes = 5;

type Check = (checked: Checked) => Promise<Judged> | Judged;

/** Quickly looked at, and of use at any time. */
const runningChecks: Readonly<Record<string, Check>> = {
  clock: ({ db }) => judgeClock(db),
  disk: ({ config }) => judgeDisk(config),
  'database connections': ({ db, config }) => judgeConnections(db, config),
  nodes: ({ db }) => judgeNodes(db),
  migrations: ({ db }) => judgeMigrations(db),
  backups: ({ db }) => judgeBackups(db),
};

const checks: Readonly<Record<string, Check>> = {
  'public address': ({ config }) => judgeAddress(config),
  proxy: ({ config }) => judgeProxy(config),
  mail: ({ config }) => judgeMail(config),
  demo: judgeDemo,
  'secret key': ({ config }) => judgeSecretKey(config),
  'outgoing calls': ({ config }) => judgeOutbound(config),
  'rate limit': ({ config }) => judgeRateLimit(config),
  'database rights': ({ db, config }) => judgeRights(db, config),
  ...runningChecks,
  backups: ({ db, config }) => judgeBackupsLive(db, config),
};

/** What a new version needs of a database that it has not migrated yet. */
const upgradeChecks: Readonly<Record<string, Check>> = {
  'database rights': ({ db, config }) => judgeRights(db, config),
  disk: ({ config }) => judgeDisk(config),
  'migrations under way': ({ db }) => judgeMigrations(db),
};

export const checkLive = (checked: Checked): Promise<Finding[]> => judgeAll(checks, checked);
export const checkBeforeUpgrade = (checked: Checked): Promise<Finding[]> => judgeAll(upgradeChecks, checked);
export const checkRunning = (checked: Checked): Promise<Finding[]> => judgeAll({ mail: ({ config }) => judgeMailSettings(config), ...runningChecks }, checked);

/** One that cannot be made is one that fails. */
async function judgeAll(all: Readonly<Record<string, Check>>, checked: Checked): Promise<Finding[]> {
  return Promise.all(
    Object.entries(all).map(async ([check, judge]) => {
      try {
        return { check, ...(await judge(checked)) };
      } catch (error) {
        return { check, ...fail((error as Error).message, 'mend this, and check again') };
      }
    }),
  );
}

function judgeAddress({ publicUrl }: Config): Judged {
  if (publicUrl.startsWith('https://')) return ok(publicUrl);
  return fail(`${publicUrl} is not https`, 'set PUBLIC_URL to the https address by which schools and applications come here');
}

function judgeProxy({ publicUrl, trustProxy }: Config): Judged {
  if (trustProxy.length > 0) return ok(`X-Forwarded-* of ${trustProxy.join(', ')} count`);
  if (!publicUrl.startsWith('https://')) return ok('none');
  return warn('https ends at a proxy, and none is trusted', 'set TRUST_PROXY to its address: wrong tries are counted by the address of the caller');
}

function judgeMailSettings({ mail }: Config): Judged {
  if (mail) return ok('set up');
  const found = 'e-mail is not set up: invitations, links and receipts are stored and reach nobody until SMTP_URL and MAIL_FROM are set';
  return warn(found, 'set SMTP_URL and MAIL_FROM; the command mails shows what is stored');
}

async function judgeMail({ mail }: Config): Promise<Judged> {
  if (!mail) return fail('there is no SMTP_URL: nobody gets a link', 'set SMTP_URL and MAIL_FROM');
  const host = new URL(mail.smtpUrl).host;
  const trouble = await findMailTrouble(mail);
  return trouble === undefined ? ok(`${host} lets us in, from ${mail.from}`) : fail(`${host}: ${trouble}`, 'mend SMTP_URL, or the mail server');
}

async function judgeDemo({ db, config }: Checked): Promise<Judged> {
  if (config.demo) return fail('the demo is on, and its credentials are printed at each start', 'set DEMO=off');
  const [row] = await db<{ schools: number }[]>`select count(*)::int as schools from establishment where connector = 'demo'`;
  if (!row || row.schools === 0) return ok('off');
  return warn(`off, but there are ${row.schools} schools with made-up people`, 'school remove');
}

async function judgeSecretKey({ secretKeys, dataDir }: Config): Promise<Judged> {
  if (secretKeys.length > 1) return warn('SECRET_KEY has an old key still', 'keys reseal, then leave the old one out');
  const [given] = secretKeys;
  if (given !== undefined) {
    if (new Set(given).size >= fewestLetters) return ok(`given, ${given.length} characters`);
    return fail('SECRET_KEY has few different characters and can be guessed', 'change it to a random one: openssl rand -base64 32');
  }
  const file = join(dataDir, 'secret.key');
  const { mode } = await stat(file);
  if ((mode & 0o077) !== 0) return fail(`${file} can be read by others`, `chmod 600 ${file}`);
  return warn(`${file}, beside the data that it seals`, 'keep a copy elsewhere: without it nothing sealed can be read again');
}

function judgeOutbound({ outboundAllow }: Config): Judged {
  if (outboundAllow.length === 0) return ok('to public addresses only');
  return warn(`applications may have ${outboundAllow.join(', ')} called`, 'leave out of OUTBOUND_ALLOW what need not be reached');
}

function judgeRateLimit({ rateLimitPerMinute }: Config): Judged {
  if (rateLimitPerMinute > 0) return ok(`${rateLimitPerMinute} calls a minute for a credential`);
  return warn('RATE_LIMIT_PER_MINUTE is 0: there is none', 'set it, unless something before this service limits');
}

/** The answer's way is half of what it took, once there is a connection. */
async function judgeClock(db: Db): Promise<Judged> {
  const connection = await db.reserve();
  try {
    const before = Date.now();
    const [row] = await connection<{ at: Date }[]>`select clock_timestamp() as at`;
    return judgeOffset(Math.abs((row?.at.getTime() ?? 0) - (before + Date.now()) / 2) / 1000);
  } finally {
    connection.release();
  }
}

export function judgeOffset(off: number): Judged {
  const found = `${off.toFixed(1)} s from that of the database`;
  if (off <= clockSeconds.exact) return ok(found);
  return (off <= clockSeconds.usable ? warn : fail)(found, 'let both machines keep their time by NTP');
}

async function judgeDisk({ dataDir }: Config): Promise<Judged> {
  const folder = await findExisting(dataDir);
  await access(folder, constants.W_OK);
  return judgeRoom((await readDiskRoom(folder))?.free ?? 0, dataDir);
}

export function judgeRoom(free: number, dataDir: string): Judged {
  const found = `${formatBytes(free)} free for DATA_DIR ${dataDir}`;
  if (free >= room.comfortable) return ok(found);
  return (free >= room.least ? warn : fail)(found, 'make room: imports, marks and the embedded database live there');
}

async function findExisting(folder: string): Promise<string> {
  const found = await stat(folder).catch(() => undefined);
  return found || dirname(folder) === folder ? folder : findExisting(dirname(folder));
}

/** The embedded database has a role of its own for changes of the schema. With DATABASE_URL one role does all of it. */
async function judgeRights(db: Db, { databaseUrls }: Config): Promise<Judged> {
  const [row] = await db<{ role: string; create: boolean; temporary: boolean; unmaintained: number; superuser: boolean; version: string }[]>`
    select current_user as role, has_schema_privilege(current_schema(), 'create') as create, has_database_privilege(current_database(), 'temp') as temporary,
      (select count(*)::int from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not case
        when current_setting('server_version_num')::int >= 170000 then has_table_privilege(c.oid, 'maintain') else pg_has_role(c.relowner, 'usage') end)
        as unmaintained,
      (select rolsuper from pg_roles where rolname = current_user) as superuser, current_setting('server_version') as version`;
  if (!row) return fail('the database does not answer', 'look at its log');
  const { role, create, temporary, unmaintained, superuser, version } = row;
  if (!create && databaseUrls) return fail(`${role} may not create tables`, `grant create on schema public to ${role}: upgrades need it`);
  if (!temporary) return fail(`${role} may not make temporary tables`, `grant temporary on the database to ${role}`);
  if (unmaintained > 0)
    return fail(
      `${role} may not run ANALYZE on ${unmaintained} tables, so that imports of new schools become slow`,
      `make ${role} the owner of the tables, or (PostgreSQL 17 or newer) grant maintain on all tables in schema public to ${role}`,
    );
  await provesWritable(db);
  const found = `PostgreSQL ${version} takes writes of ${role}`;
  return superuser && databaseUrls ? warn(`${found}, a superuser`, 'give the service a role of its own that owns its database alone') : ok(found);
}

async function judgeConnections(db: Db, { role }: Config): Promise<Judged> {
  const wanted = connectionsOf(role);
  const shortage = await findConnectionShortage(db, wanted);
  return shortage === undefined ? ok(`room for ${wanted} of each process`) : fail(shortage, 'raise max_connections, or run fewer processes');
}

/** One that runs goes on by itself; an index that one left half made is made anew by the next start. */
async function judgeMigrations(db: Db): Promise<Judged> {
  const [row] = await db<{ minutes: number | null; broken: string[] }[]>`
    select (select extract(epoch from now() - min(query_start)) / 60 from pg_stat_activity
        where datname = current_database() and state <> 'idle' and starts_with(application_name, ${`schoolbell ${policies.setup.name} `}))::float8 as minutes,
      array(select c.relname::text from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
        where not i.indisvalid and n.nspname = current_schema() order by 1) as broken`;
  const { minutes, broken } = row ?? { minutes: null, broken: [] };
  if (minutes !== null && minutes > longestMigrationMinutes)
    return warn(`one has run for ${Math.round(minutes)} minutes`, 'let it end; if nothing moves, see in pg_stat_activity what it waits for');
  if (minutes === null && broken.length > 0)
    return warn(`not ended: the index ${broken.join(', ')} is not usable`, 'start the service again: it makes it anew');
  return ok('none is under way for long');
}
