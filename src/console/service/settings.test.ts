// Covers the page of settings: every variable with where it comes from and no secret of the service in it, keys and their
// rotation, processes, and the periods that are in force.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { useCommands } from '../../../test/commands.ts';
import { useConsole } from '../../../test/console.ts';
import { useDataDir } from '../../../test/data-dir.ts';
import { createSeal } from '../../access/seal.ts';
import { sealedAs } from '../../access/sealed-as.ts';
import { createTokenKeys } from '../../access/token-keys.ts';
import { readConfig, variables } from '../../config.ts';
import { requireGeneration } from '../../identity/oidc/keys.ts';
import { pages } from '../routes.ts';
import { listSettings } from '../../settings.ts';

const secrets = {
  SECRET_KEY: 'the-newest-key-of-all-keys-0123456789,an-older-key-that-still-opens-0123456789',
  ADMIN_PASSWORD: 'correct horse battery <b>staple</b>',
  BACKUP_PASSPHRASE: 'the words of a keeper <i>of backups</i>',
  SMTP_URL: 'smtp://mailer:smtp-p4ssword@mail.example:587/?pass=query-p4ssword',
};
const { service, enter } = await useConsole({ ...secrets, MAIL_FROM: '<i>Bell</i> <bell@trust.example>', PURGE_AFTER_DAYS: '7', METRICS_PORT: '9464' });
const { db, dataDir } = service;
const [newest = '', older = ''] = secrets.SECRET_KEY.split(',');
const [admin, viewer] = [await enter('admin'), await enter('viewer')];
const path = '/console/settings';

test('each variable is shown with where it comes from, and a new one cannot be forgotten', async () => {
  const source = readFileSync(join(import.meta.dirname, '../../config.ts'), 'utf8');
  const read = [...source.matchAll(/(?:\(|env\.)'?([A-Z][A-Z_]{3,})\b/g)].map(([, name = '']) => name);
  assert.deepEqual([...new Set(read)].filter((name) => !(variables as readonly string[]).includes(name)), []);
  const { text } = await viewer.get(path);
  for (const name of variables) assert.ok(text.includes(`<code>${name}</code>`), name);
  for (const [name, value, from] of [
    ['PURGE_AFTER_DAYS', '7', 'Set'], ['LOG_LEVEL', 'silent', 'Set'], ['SHRINK_LIMIT_PERCENT', '20', 'Default'], ['ADMIN_PASSWORD', 'set', 'Set'],
    ['BACKUP_PASSPHRASE', 'set', 'Set'],
    ['SMTP_URL', 'smtp://mail.example:587', 'Set'], ['MAIL_FROM', '&#60;i&#62;Bell&#60;/i&#62; &#60;bell@trust.example&#62;', 'Set'],
    ['SECRET_KEY', 'set, 2 keys: the first seals, all of them open', 'Set'],
  ])
    assert.match(text, new RegExp(`<code>${name}</code></div></td><td[^>]*><div>${value}</div></td><td[^>]*><div><span class="badge \\w+">${from}`));
});

test('no secret of the service is in any page that is about the whole of it, nor what the files of its secrets hold', async () => {
  for (const file of ['secret.key', 'admin.password', 'demo.json']) writeFileSync(join(dataDir, file), `the-content-of-${file}`);
  const kept = await db<{ sealed: Buffer }[]>`select sealed_private_jwk as sealed from token_key where sealed_private_jwk is not null`;
  const database = new URL(service.databaseUrl);
  const forbidden = [
    newest, older, secrets.ADMIN_PASSWORD, 'staple', 'keeper', 'p4ssword', 'mailer', 'the-content-of', service.databaseUrl, database.password,
    `//${database.username}:`,
    ...kept.map(({ sealed }) => sealed.toString('base64')),
  ].filter((one) => one !== '' && one !== '//:');
  const { json } = useCommands({ ...secrets, DATABASE_URL: service.databaseUrl, DATA_DIR: dataDir, MAIL_FROM: 'a@b.example' });
  const texts = [JSON.stringify(await json('settings'))];
  for (const { path: one } of pages.filter((page) => !page.path.includes(':')))
    for (const who of [admin, viewer]) texts.push((await who.get(one)).text);
  assert.ok(texts.length > 30 && texts.every((text) => text.length > 100));
  for (const text of texts) for (const secret of forbidden) assert.ok(!text.includes(secret), secret);
});

test('what was made at the first start says in which file it is', () => {
  const folder = useDataDir();
  mkdirSync(folder, { recursive: true });
  const shown = listSettings(readConfig({ DATA_DIR: folder }));
  const of = (name: string) => shown.find((one) => one.name === name);
  assert.deepEqual({ ...of('SECRET_KEY') }, { name: 'SECRET_KEY', value: `in the file ${folder}/secret.key`, from: 'made' });
  assert.deepEqual({ ...of('ADMIN_PASSWORD') }, { name: 'ADMIN_PASSWORD', value: `in the file ${folder}/admin.password`, from: 'made' });
  assert.deepEqual({ ...of('DATABASE_URL') }, { name: 'DATABASE_URL', value: 'the embedded PostgreSQL', from: 'default' });
  const key = 'k'.repeat(32);
  const several = readConfig({ SECRET_KEY: key, DATABASE_URL: 'postgresql://me:hunter22@one:5432,two:5433/bell?sslpassword=x', DATA_DIR: folder });
  const elsewhere = listSettings(several).filter(({ name }) => name === 'DATABASE_URL' || name === 'ADMIN_PASSWORD');
  assert.deepEqual(elsewhere.map(({ value }) => value), ['postgresql://one:5432/bell, postgresql://two:5433/bell', 'not set']);
});

test('versions, the periods in force and the processes that are connected', async () => {
  const { text } = await viewer.get(path);
  assert.match(text, new RegExp(`<dt>Node</dt><dd>${process.version}</dd>`));
  const [{ version } = { version: 0 }] = await db<{ version: number }[]>`select max(version) as version from migration`;
  assert.match(text, new RegExp(`migration ${version} \\(<code>`));
  assert.match(text, new RegExp(`${process.pid} \\(this one\\)`));
  assert.match(text, /<div>7 days after they were replaced<\/div>/);
  assert.match(text, /while the source has it, then 7 days, and longer/);
  assert.doesNotMatch(text, /<div>90 days/);
});

test('keys are replaced by an admin, with their age to be seen, and the trail knows how', async () => {
  const keys = createTokenKeys(db, service.seal);
  const { kid } = await keys.signingKey();
  await requireGeneration(db, service.seal);
  assert.match((await viewer.get(path)).text, new RegExp(`${kid}</span>[^]{0,120}Signs`));
  assert.doesNotMatch((await viewer.get(path)).text, /Make new keys/);
  assert.equal((await viewer.post(`${path}/rotate`)).status, 403);
  assert.equal((await admin.post(`${path}/rotate`)).location, `${path}?done=settings-rotate`);
  assert.match((await viewer.get(path)).text, new RegExp(`${kid}</span>[^]{0,120}Only verifies`));
  assert.notEqual((await keys.signingKey()).kid, kid);
  await admin.post(`${path}/rotate`, { now: 'yes' });
  assert.doesNotMatch((await viewer.get(path)).text, new RegExp(kid));
  const trail = await db<{ detail: object }[]>`select detail from audit_event where action = 'keys rotate' and outcome = 'done' order by number`;
  assert.deepEqual(trail.map(({ detail }) => detail), [{ now: false }, { now: true }]);
});

test('keys that an older key has sealed are counted while SECRET_KEY is being changed', async () => {
  assert.match((await viewer.get(path)).text, /Nearly changed/);
  const [key] = await db<{ kid: string }[]>`select kid from token_key where sealed_private_jwk is not null`;
  const sealed = createSeal([older]).seal('{}', sealedAs.tokenKey(key?.kid ?? ''));
  await db`update token_key set sealed_private_jwk = ${sealed} where kid = ${key?.kid ?? ''}`;
  assert.match((await viewer.get(path)).text, /Being changed[^]*1 key above is still sealed with an older one/);
});

test('what is settled is said to be kept as long as people are, where that is less than a month', async () => {
  await service.addSchool('kept');
  await service.addClient('keeping', ['kept']);
  // A target of a new application would say how long it has been there.
  await db`update application set created_at = now() - interval '90 days' where rp = 'keeping'`;
  await db`insert into lane (key, width, lasting) values ('collect', 1, false) on conflict do nothing`;
  await db`insert into outbox (estab, id, kind, lane, topic, payload, due_at, state, settled_at)
    values ('kept', 'kept-1', 'collect', 'collect', 'collect SchoolData', ${db.json({ database: 'SchoolData' })}, now(), 'done', now())`;
  await db`insert into lane (key, host, width, lasting) values ('one-off keeping https://r.example', 'r.example', 1, true)`;
  const target = encodeURIComponent('one-off:keeping:https://r.example');
  for (const at of ['deliveries?estab=kept', 'deliveries/none', 'mail/none', 'schools/kept/source', 'applications/keeping/requests', `targets/${target}`]) {
    const { text } = await viewer.get(`/console/${at}`);
    assert.match(text, /(?:kept for|of the last|none in) 7 days/i, at);
  }
});
