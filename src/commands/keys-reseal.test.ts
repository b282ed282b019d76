// From one SECRET_KEY to another: with new,old everything goes on, `keys reseal` seals all of it anew, and then the new
// key alone is enough. It may run beside the service, die and be repeated, and says what it cannot open.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { verifyWebhook } from '../../client/verify-webhook.js';
import { useReceiver } from '../../test/delivery.ts';
import { until } from '../../test/until.ts';
import { rootB, testSecretKey, useService } from '../../test/service.ts';
import { smallPackage } from '../../test/small-school.ts';
import { addApplication } from '../access/applications.ts';
import { createSeal, type Seal } from '../access/seal.ts';
import { sealedAs } from '../access/sealed-as.ts';
import { rotateTokenKey } from '../access/token-keys.ts';
import { setBackupPlan } from '../backup/plan.ts';
import { openConnector, setConnector } from '../collection/connector-settings.ts';
import { readConfig } from '../config.ts';
import { parseAllowList } from '../http/address-guard.ts';
import { createOutbound } from '../http/outbound.ts';
import { createDelivery } from '../notifications/deliver.ts';
import { addInbox } from '../notifications/inbox/inboxes.ts';
import { approve } from '../onboarding/approve.ts';
import { startWorker } from '../outbox/worker.ts';
import { keyCommands } from './keys.ts';

const [oldKey, newKey] = [testSecretKey, 'the key that takes its place for good'];
const [onlyOld, changing, onlyNew] = [createSeal([oldKey]), createSeal([newKey, oldKey]), createSeal([newKey])];
const receiver = await useReceiver();
const outbound = createOutbound(parseAllowList(['127.0.0.0/8']));
after(() => outbound.close());
const service = await useService({ OUTBOUND_ALLOW: '127.0.0.0/8' });
const { db, url } = service;
const estab = 'one';
await service.addSchool(estab, smallPackage());
await service.addSchool('two');
const asking = { rp: 'app', name: 'App', callbackUrl: `${receiver.origin}/events`, scopes: 'School,Student', redirectUris: [] };
const application = await addApplication(db, onlyOld, asking);
const { schoolSecret } = await approve({ db, seal: onlyOld, publicUrl: url }, { estab, rp: 'app', actor: 'operator' });
const mis = { kind: 'oneroster', url: 'https://mis.example', tokenUrl: undefined, clientId: 'me', clientSecret: 'hush-hush' } as const;
await db.begin((tx) => setConnector(tx, onlyOld, 'two', mis));

const account = randomUUID();
await db`
  insert into console_account (id, sign_in_name, name, role, created_by, sealed_totp)
  values (${account}, 'admin', 'Admin', 'admin', 'test', ${onlyOld.seal('ABCD', sealedAs.secondFactor(account))})`;
await addInbox(db, onlyOld, { rp: 'app', name: 'Inbox', answer: '200' });
await setBackupPlan(db, onlyOld, { folder: join(service.dataDir, 'backups'), everySeconds: 60, keep: 1, passphrase: 'a', by: 'test' }, new Date());

const signOnKeys = async (at = url) => ((await (await fetch(`${at}/oidc/jwks`)).json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
await signOnKeys();
await tokenFrom(url);

/** Every column that is named for being sealed, and the bodies that are. */
const named = await db<{ table: string; column: string }[]>`
  select table_name as table, column_name as column from information_schema.columns
  where table_schema = 'public' and data_type = 'bytea' and column_name like 'sealed%'`;
const columns = [...named, { table: 'outbox', column: 'body' }];

async function sealedIn({ table, column }: { table: string; column: string }): Promise<Uint8Array[]> {
  const which = table === 'outbox' ? db`payload ->> 'sealed' = 'true' and body is not null` : db`${db(column)} is not null`;
  return (await db<{ sealed: Uint8Array }[]>`select ${db(column)} as sealed from ${db(table)} where ${which}`).map(({ sealed }) => sealed);
}

const snapshot = await Promise.all(columns.map(async (place) => ({ ...place, rows: await db`select * from ${db(place.table)}` })));
const keyOf: Record<string, string> = { token_key: 'kid', connector_setting: 'estab' };

/** As it was when only the old key was known. */
beforeEach(async () => {
  for (const { table, column, rows } of snapshot) {
    const key = keyOf[table] ?? 'id';
    for (const row of rows) await db`update ${db(table)} set ${db(column)} = ${row[column] as Buffer | null} where ${db(key)} = ${row[key] as string}`;
  }
});

type Data = { places: { what: string; found: number; resealed: number }[]; unopened: string[]; sealedMeanwhile: number };

async function reseal(seal: Seal = changing): Promise<{ data: Data; lines: readonly string[]; failed?: string }> {
  const outcome = await keyCommands.find(({ name }) => name === 'keys reseal')?.run({ db, seal, config: readConfig({}) }, { options: {}, positionals: [] });
  return outcome as { data: Data; lines: readonly string[]; failed?: string };
}

async function tokenFrom(at: string): Promise<string> {
  const authorization = `Basic ${Buffer.from(`app|${estab}:${schoolSecret}`).toString('base64')}`;
  const response = await fetch(`${at}${rootB}/auth/token`, { method: 'POST', headers: { authorization } });
  const body = await response.text();
  assert.equal(response.status, 200, body);
  return (JSON.parse(body) as { access_token: string }).access_token;
}

const read = async (at: string, token: string) => (await fetch(`${at}${rootB}/users?limit=1`, { headers: { authorization: `Bearer ${token}` } })).status;

async function assertSealedWith(seal: Seal): Promise<void> {
  for (const place of columns) {
    const found = await sealedIn(place);
    assert.ok(found.length > 0, `nothing is sealed in ${place.table}.${place.column}: put something there, so that this test covers it`);
  }
  const reading: Seal = { ...seal, reseal: (sealed, as) => void seal.open(sealed, as) };
  assert.deepEqual((await reseal(reading)).data.unopened, []);
}

test('with new,old a process goes on with what the old key sealed', async () => {
  const before = await tokenFrom(url);
  const changed = await service.join({ SECRET_KEY: `${newKey},${oldKey}` });
  assert.deepEqual([await read(changed.url, before), await read(url, await tokenFrom(changed.url))], [200, 200]);
  assert.deepEqual(await signOnKeys(changed.url), await signOnKeys());
});

test('reseal with new,old seals everything anew and says so; then the new key alone is enough', async () => {
  const before = await tokenFrom(url);
  const keys = await signOnKeys();
  await assertSealedWith(onlyOld);
  const { data, lines, failed } = await reseal();
  assert.equal(failed, undefined);
  const everything = [
    'keys of single sign-on', 'signing secrets', 'keys of inboxes', 'second factors of operators', 'passphrase of backups', 'school secrets',
    'connector credentials', 'authentication events', 'token keys',
  ];
  assert.deepEqual(data, { places: everything.map((what) => ({ what, found: 1, resealed: 1 })), unopened: [], sealedMeanwhile: 0 });
  const last = 'everything is sealed with the first key of SECRET_KEY; any other may now go';
  const [heading, ...rows] = lines;
  assert.match(heading ?? '', /^WHAT +FOUND +SEALED ANEW$/);
  assert.deepEqual(rows.map((row) => row.replaceAll(/ {2,}/g, ' | ')), [...everything.map((what) => `${what} | 1 | 1`), last]);
  await assertSealedWith(onlyNew);

  const changed = await service.join({ SECRET_KEY: newKey });
  assert.deepEqual([await read(changed.url, before), await read(changed.url, await tokenFrom(changed.url))], [200, 200]);
  assert.deepEqual(await signOnKeys(changed.url), keys);
  const connector = await openConnector({ db, mis: db, seal: onlyNew, outbound, dataDir: service.dataDir }, 'two');
  assert.ok(connector);
});

test('a worker with the new key alone sends what the old one had sealed, signed as before', async () => {
  await reseal();
  const worker = await startWorker({ db, handlers: { call: createDelivery(db, onlyNew, outbound, '1.2.3') }, log: { warn() {}, error() {} }, pollMs: 20 });
  try {
    await until('the event arrives', () => receiver.arrivals.length > 0);
  } finally {
    await worker.stop();
  }
  const [arrival] = receiver.arrivals;
  assert.equal(new URLSearchParams(arrival?.body.toString('utf8')).get('schoolSecret'), schoolSecret);
  verifyWebhook(arrival?.headers ?? {}, arrival?.body, application.signingSecret);
});

test('repeated, it finds everything done', async () => {
  await reseal();
  const bytes = () => Promise.all(columns.map(sealedIn));
  const before = JSON.stringify(await bytes());
  const { data, failed } = await reseal();
  assert.deepEqual([failed, data.places.map(({ resealed }) => resealed)], [undefined, [0, 0, 0, 0, 0, 0, 0, 0, 0]]);
  assert.equal(JSON.stringify(await bytes()), before);
  assert.equal((await reseal(onlyNew)).failed, undefined, 'the new key alone shows that it opens everything');
});

test('ended anywhere and repeated, nothing is lost', async () => {
  for (let steps = 0; steps < 6; steps += 1) {
    let left = steps;
    const dying: Seal = {
      ...changing,
      reseal(sealed, as) {
        left -= 1;
        if (left < 0) throw new Error('killed');
        return changing.reseal(sealed, as);
      },
    };
    await assert.rejects(reseal(dying), /killed/);
    await assertSealedWith(changing);
  }
  assert.equal((await reseal()).failed, undefined);
  await assertSealedWith(onlyNew);
});

test('the token key, which every start opens, is sealed anew last: a start with the new key alone fails until then', async () => {
  let seen = 0;
  const dying: Seal = { ...changing, reseal: (sealed, as) => ((seen += 1) === 6 ? assert.fail('killed') : changing.reseal(sealed, as)) };
  await assert.rejects(reseal(dying), /killed/);
  const [key] = await db<{ kid: string; sealed: Uint8Array }[]>`select kid, sealed_private_jwk as sealed from token_key where trusted_until is null`;
  assert.throws(() => onlyNew.open(key?.sealed ?? Buffer.alloc(0), sealedAs.tokenKey(key?.kid ?? '')), /SECRET_KEY/);
});

/** Holds the row back, lets the command run into it, changes the row and lets go. */
async function changeMeanwhile(sealed: Buffer | null): Promise<Awaited<ReturnType<typeof reseal>>> {
  let running: ReturnType<typeof reseal> | undefined;
  await db.begin(async (tx) => {
    await tx`update connector_setting set sealed_credentials = ${sealed} where estab = 'two'`;
    running = reseal();
    const waiting = () => db`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%update connector_setting%'`;
    await until('it waits for the row', async () => (await waiting()).length > 0);
  });
  return running ?? assert.fail();
}

async function credentials(): Promise<Uint8Array | null | undefined> {
  const [row] = await db<{ sealed: Uint8Array | null }[]>`select sealed_credentials as sealed from connector_setting where estab = 'two'`;
  return row?.sealed;
}

const otherCredentials = '{"clientId":"other","clientSecret":"other"}';

test('what the service changes meanwhile stays as the service left it', async () => {
  const fresh = changing.seal(otherCredentials, sealedAs.connectorCredentials('two'));
  const { failed } = await changeMeanwhile(fresh);
  assert.deepEqual([failed, Buffer.from((await credentials()) ?? []).equals(fresh)], [undefined, true]);
});

test('what the service erases meanwhile is not brought back', async () => {
  assert.deepEqual([(await changeMeanwhile(null)).failed, await credentials()], [undefined, null]);
});

test('a process that still seals with the old key is noticed', async () => {
  const { data, failed } = await changeMeanwhile(onlyOld.seal(otherCredentials, sealedAs.connectorCredentials('two')));
  assert.equal(data.sealedMeanwhile, 1);
  assert.match(failed ?? '', /^1 were sealed with an older key meanwhile: give every process the new key first, then repeat/);
});

test('what no key opens is named, everything else is sealed anew, and no key may go', async () => {
  const stranger = createSeal(['a key that nobody has any more, alas']);
  const sealed = stranger.seal('x', sealedAs.signingSecret('app', ''));
  await db`update application_secret set sealed = ${sealed} where rp = 'app' and kind = 'signing'`;
  await db`update connector_setting set sealed_credentials = '\\x001122' where estab = 'two'`;
  const { data, lines, failed } = await reseal();
  assert.deepEqual(data.unopened, ['the signing secret of app', 'the connector credentials of two']);
  assert.match(failed ?? '', /^no key of SECRET_KEY opens the signing secret of app, the connector credentials of two; add the key/);
  assert.doesNotMatch(lines.join('\n'), /may now go/);
  assert.deepEqual(data.places.map(({ resealed }) => resealed), [1, 0, 1, 1, 1, 1, 0, 1, 1]);
});

test('with a wrong key nothing is changed, and everything that it does not open is named', async () => {
  const before = JSON.stringify(await Promise.all(columns.map(sealedIn)));
  const { data, failed } = await reseal(createSeal(['another key than the one of this database']));
  assert.equal(data.unopened.length, 9);
  const names = [
    'single sign-on', 'second factor of admin', 'signing secret of app', 'inbox Inbox of app', 'school secret of app at one',
    'connector credentials of two', 'authentication event', 'token key',
  ];
  for (const name of names) assert.ok(failed?.includes(name), name);
  assert.equal(JSON.stringify(await Promise.all(columns.map(sealedIn))), before);
});

test('a secret that has ended, and a key that was retired, are in nobody’s way', async () => {
  const stranger = createSeal(['a key that nobody has any more, alas']);
  const sealed = stranger.seal('x', sealedAs.signingSecret('app', ''));
  await db`insert into application_secret (rp, kind, hash, sealed, valid_until) values ('app', 'signing', '\\x00', ${sealed}, now())`;
  await db.begin((tx) => rotateTokenKey(tx, onlyOld, { now: false }));
  const { failed, data } = await reseal();
  assert.deepEqual([failed, data.places.at(-1)], [undefined, { what: 'token keys', found: 1, resealed: 1 }]);
});
