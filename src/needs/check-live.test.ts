// Covers the checks before going live: each says what was found and what is to be done, and one that fails ends with 1.
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { assertFailed, useCommands } from '../../test/commands.ts';
import { receiveMail } from '../../test/mail-receiver.ts';
import { useService } from '../../test/service.ts';
import { citusUrl } from '../../test/spread-database.ts';
import { setBackupPlan } from '../backup/plan.ts';
import type { BackupRun } from '../backup/runs.ts';
import { readConfig } from '../config.ts';
import { connect } from '../db/connect.ts';
import { policies } from '../db/policies.ts';
import { checkLive, judgeOffset, judgeRoom } from './check-live.ts';
import { judgeBackups, judgeStanding } from './judge-backups.ts';
import type { Finding } from './finding.ts';

const folder = mkdtempSync(join(tmpdir(), 'schoolbell-check-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const mail = await receiveMail();
const service = await useService();
const sound = {
  DATABASE_URL: service.databaseUrl, DATA_DIR: service.dataDir, SECRET_KEY: 'v3ry-Random_key/for+going=live.Really', PUBLIC_URL: 'https://bell.trust.example',
  TRUST_PROXY: '10.0.0.1', SMTP_URL: mail.url, MAIL_FROM: 'Schoolbell <bell@trust.example>',
};
const { run } = useCommands(sound);

type Checked = { ok: boolean; checks: Finding[] };
async function check(change: Record<string, string | undefined> = {}): Promise<Checked & { code: number; err: string; of(name: string): Finding | undefined }> {
  const env = Object.fromEntries(Object.entries({ ...sound, ...change }).filter((pair): pair is [string, string] => pair[1] !== undefined));
  const { code, out, err } = await run(['status', '--check', '--json'], env);
  const checked = JSON.parse(out) as Checked;
  return { ...checked, code, err, of: (name) => checked.checks.find((one) => one.check === name) };
}

test('one that may go live: every check is ok, but for the role of the tests, and it ends with 0', async () => {
  const { ok, code, err, checks } = await check();
  assert.deepEqual([ok, code, err, checks.filter(({ verdict }) => verdict === 'fail')], [true, 0, '', []]);
  assert.deepEqual(
    checks.map(({ check: name }) => name),
    [
      'public address', 'proxy', 'mail', 'demo', 'secret key', 'outgoing calls', 'rate limit', 'database rights', 'clock', 'disk', 'database connections',
      'nodes', 'migrations', 'backups', 'held imports', 'failing schools', 'stale schools', 'failing targets', 'callback URLs', 'schools to confirm',
      'unsent invitations', 'unanswered invitations', 'failing mails',
    ],
  );
  for (const { verdict, todo } of checks) assert.equal(verdict === 'ok', todo === null);
  const { out } = await run(['status', '--check']);
  assert.match(out, /^CHECK +VERDICT +FOUND[^]*^mail +ok +127\.0\.0\.1:\d+ lets us in, from Schoolbell <bell@trust\.example>$/m);
  assert.doesNotMatch(out, /\t/);
});

const wrong: [what: string, change: Record<string, string | undefined>, check: string, verdict: string, found: RegExp, todo: RegExp][] = [
  ['no https', { PUBLIC_URL: 'http://bell.trust.example' }, 'public address', 'fail', /not https/, /set PUBLIC_URL/],
  ['a proxy that is not trusted', { TRUST_PROXY: undefined }, 'proxy', 'warn', /none is trusted/, /TRUST_PROXY/],
  ['no mail', { SMTP_URL: undefined }, 'mail', 'fail', /no SMTP_URL/, /set SMTP_URL and MAIL_FROM/],
  ['mail that is away', { SMTP_URL: 'smtp://u:s3cret@127.0.0.1:1' }, 'mail', 'fail', /^127\.0\.0\.1:1: .*ECONNREFUSED/, /SMTP_URL/],
  ['the demo', { DEMO: 'on' }, 'demo', 'fail', /the demo is on/, /DEMO=off/],
  ['a weak key', { SECRET_KEY: 'abababababababababababababababababab' }, 'secret key', 'fail', /guessed/, /openssl rand/],
  ['two keys', { SECRET_KEY: `${'0123456789abcdef'.repeat(2)},${sound.SECRET_KEY}` }, 'secret key', 'warn', /an old key still/, /keys reseal/],
  ['calls into the own network', { OUTBOUND_ALLOW: '10.0.0.0/8' }, 'outgoing calls', 'warn', /10\.0\.0\.0\/8/, /OUTBOUND_ALLOW/],
  ['no backups', {}, 'backups', 'warn', /none is set up/, citusUrl === undefined ? /^backup --to <folder> --every 24h --keep 14 --pass/ : /^back up the nodes/],
  ['no limit', { RATE_LIMIT_PER_MINUTE: '0' }, 'rate limit', 'warn', /there is none/, /set it/],
];
for (const [what, change, name, verdict, found, todo] of wrong) {
  test(`${what}: ${verdict}`, async () => {
    const { ok, code, err, of } = await check(change);
    const finding = of(name);
    assert.equal(finding?.verdict, verdict, JSON.stringify(finding));
    assert.match(finding.found, found);
    assert.match(finding.todo ?? '', todo);
    assert.doesNotMatch(JSON.stringify(finding), /s3cret|v3ry-Random/);
    assert.deepEqual([ok, code], verdict === 'fail' ? [false, 1] : [true, 0]);
    if (verdict === 'fail') assertFailed({ code, out: '', err }, new RegExp(`not ready to go live: ${name}`));
  });
}

test('a key in a file: others must not read it, and a copy of it is to be kept', async () => {
  const config = { ...readConfig({ ...sound, DATA_DIR: folder }), secretKeys: [] };
  const judge = async () => (await checkLive({ db: service.db, config })).find(({ check: name }) => name === 'secret key');
  assert.deepEqual(await judge().then((one) => [one?.verdict, /ENOENT/.test(one?.found ?? '')]), ['fail', true]);
  writeFileSync(join(folder, 'secret.key'), 'x'.repeat(43), { mode: 0o600 });
  assert.equal((await judge())?.verdict, 'warn');
  chmodSync(join(folder, 'secret.key'), 0o644);
  assert.deepEqual(await judge().then((one) => [one?.verdict, one?.todo]), ['fail', `chmod 600 ${join(folder, 'secret.key')}`]);
});

test('clocks that are apart, and a disk that is nearly full', () => {
  assert.deepEqual([0, 1.9, 3, 29, 31, 3600].map((seconds) => judgeOffset(seconds).verdict), ['ok', 'ok', 'warn', 'warn', 'fail', 'fail']);
  assert.deepEqual([20, 5, 4.9, 1, 0.9, 0].map((gib) => judgeRoom(gib * 1024 ** 3, '/data').verdict), ['ok', 'ok', 'warn', 'warn', 'fail', 'fail']);
  assert.match(judgeOffset(3600).todo ?? '', /NTP/);
});

test('a folder of backups without room for the next is told, where it is on this machine', () => {
  const plan = { id: 'x', folder: '/backups', everySeconds: 86_400, keep: 14, since: new Date(0), by: 'ann', askedAt: null, seenAt: null, moved: false };
  const newest = { bytes: 3 * 1024 ** 3 } as BackupRun;
  const standing = { plan, newest, last: newest, underWay: undefined, ageMs: 1, overdue: false, unseenMs: undefined };
  const judge = (free?: number) => judgeStanding(standing, free === undefined ? free : { free, size: 9e12 });
  assert.deepEqual([undefined, 6 * 1024 ** 3, 5 * 1024 ** 3].map((free) => judge(free).verdict), ['ok', 'ok', 'warn']);
  assert.match(judge(0).found, /^0 MiB are free in \/backups, of which the newest takes 3\.0 GiB/);
});

test('and it is looked at in the folder that is here', async () => {
  const backups = join(folder, 'backups');
  const plan = { everySeconds: 86_400, keep: 2, passphrase: 'of tests', by: 'ann' };
  const { id, since } = await setBackupPlan(service.db, service.seal, { ...plan, folder: backups }, new Date());
  await service.db`
    insert into backup_run (plan, why, file, host, state, started_at, bytes) values (${id}, 'plan', ${join(backups, 'x')}, 'here', 'good', ${since}, 1e18)`;
  const judge = async () => (await judgeBackups(service.db)).verdict;
  assert.equal(await judge(), 'warn');
  rmSync(backups, { recursive: true });
  assert.equal(await judge(), 'ok');
  await service.db`delete from backup_plan`;
});

test('a role without the right to make tables, or to analyze them, is found', async () => {
  await service.db`create role checked_role login password 'x'`;
  try {
    await service.db`grant select, update on all tables in schema public to checked_role`;
    await service.db`revoke create on schema public from public`;
    const config = readConfig(sound);
    const url = new URL(service.databaseUrl);
    [url.username, url.password] = ['checked_role', 'x'];
    const db = connect(url.href, policies.commands);
    const judge = async () => (await checkLive({ db, config })).find(({ check: name }) => name === 'database rights');
    try {
      const rights = await judge();
      assert.deepEqual([rights?.verdict, rights?.found], ['fail', 'checked_role may not create tables']);
      await service.db`grant create on schema public to checked_role`;
      assert.match(`${(await judge())?.verdict} ${(await judge())?.found}`, /^fail checked_role may not run ANALYZE on \d+ tables/);
      await service.db`grant maintain on all tables in schema public to checked_role`;
      assert.equal((await judge())?.verdict, 'ok');
    } finally {
      await db.end({ timeout: 1 });
    }
  } finally {
    await service.db`drop owned by checked_role`;
    await service.db`drop role checked_role`;
  }
});
