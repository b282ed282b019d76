// In charge of a service with one of everything that the console shows, and of an address or more for each of its pages.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { addEstablishment } from '../src/access/establishments.ts';
import { setBackupPlan } from '../src/backup/plan.ts';
import { saveSource } from '../src/collection/change-source.ts';
import { takeUpload } from '../src/collection/uploads.ts';
import { inboxUrl } from '../src/notifications/inbox/address.ts';
import { addInbox } from '../src/notifications/inbox/inboxes.ts';
import { enqueueOneOff } from '../src/notifications/one-off.ts';
import { invite } from '../src/onboarding/invitations.ts';
import { inviteDeveloper } from '../src/operators/developers.ts';
import { inviteOperator } from '../src/operators/operators.ts';
import { enter, type AtConsole } from './console.ts';
import { useDelivering, useReceiver, type Delivering } from './delivery.ts';
import { zip } from './onboarding.ts';
import type { Client, Service } from './service.ts';
import { deltaPackage, smallPackage, smallSchool, user } from './small-school.ts';
import { until } from './until.ts';

/** developer: of the application that has most. examples: of each page, by its path in the table of routes. outside: before one is signed in. */
export type ConsoleSample = {
  service: Service;
  admin: AtConsole;
  developer: AtConsole;
  examples: Readonly<Record<string, readonly string[]>>;
  outside: readonly string[];
};

const hostile = `<img src=x onerror=alert(1)>"&'`;
const [hillTop, held, refused, failing, asked] = ['3281102', '3281103', '3281104', '3281105', '3281106'] as const;
const names = { [hillTop]: 'Hill Top School', [held]: `The ${'Very '.repeat(12)}Long School`, [refused]: hostile, [failing]: 'Mill Lane School' };
const [reader, odd] = ['reader.example', 'odd.example'] as const;
const pupils = (number: number) =>
  smallPackage({ users: [...smallSchool.users, ...Array.from({ length: number }, (_, at) => user(`x${at}`, 'student', { givenName: '<i>Pupil' }))] });
const faulty = () => smallPackage({ users: [...smallSchool.users, user('w1', hostile), user('w'.repeat(250), 'wizard')] });

export async function useConsoleSample(): Promise<ConsoleSample> {
  const delivering = await useDelivering({ worker: false });
  const { service } = delivering;
  await service.work();
  const admin = await enter(service, 'admin');
  await enter(service, 'viewer');
  const somebody = { name: hostile, email: 'eve@trust.example', role: 'viewer', by: 'admin' };
  const invited = await inviteOperator(service.db, { publicUrl: service.url, adminKept: false }, somebody);
  await addRosters(service);
  await service.db`
    insert into login (estab, presence_id, username, locked_until)
    select estab, presence_id(estab, sourced_id), ${hostile}, now() + interval '15 minutes' from roster_user
    where estab = ${hillTop} and kind = 'teacher' and status = 'active' order by sourced_id limit 1`;
  const client = await service.addClient(reader, [hillTop]);
  const other = await service.addClient(odd, [hillTop, held], 'School,Staff:optional');
  await service.db`update application set name = ${hostile} where rp = ${odd}`;
  await service.db`update application set name = 'Reader', demo = true where rp = ${reader}`;
  const developer = await enter(service, 'developer', 'dev@reader.example', [reader]);
  const colleague = { rp: reader, name: hostile, email: 'colleague@reader.example', by: 'admin' };
  await inviteDeveloper(service.db, { publicUrl: service.url, adminKept: false }, colleague);
  await invite(service.db, service.url, {
    rp: reader, estab: asked, schoolName: hostile, contactEmail: 'a@b.example', reason: hostile, scopes: undefined, by: 'application',
  });
  const targets = await addDeliveries(delivering, client, other);
  assert.equal((await admin.post(`/console/targets/${targets.paused}/pause`)).status, 303);
  assert.equal((await admin.post(`/console/schools/${failing}/source/collect`)).status, 303);
  await addRequests(service, client);
  await addInboxes(service);
  await addBackups(service);
  await settleWork(service);
  const outside = ['/console/sign-in', '/console/forgotten', pathOf(invited.link)];
  return { service, admin, developer, examples: await listExamples(service, targets), outside };
}

const pathOf = (link: string) => (URL.canParse(link) ? new URL(link).pathname : link);

/** One that was taken over twice, one that is held, one with faults, and one whose source does not answer. */
async function addRosters({ db, dataDir, seal, load }: Service): Promise<void> {
  for (const [estab, name] of Object.entries(names)) await addEstablishment(db, { estab, name, email: `office@${estab}.example` });
  await load(hillTop, join(import.meta.dirname, '../samples/hill-top-school'));
  await load(hillTop, deltaPackage({ users: [user('p-001', 'student', { orgSourcedIds: 'hts', familyName: hostile, grades: '07' })] }));
  await load(held, pupils(120));
  const provider = { url: 'http://127.0.0.1:9/ims/oneroster/v1p1', tokenUrl: undefined, clientId: 'a', clientSecret: 'b' };
  await db.begin((tx) => saveSource(tx, seal, failing, { kind: 'oneroster', ...provider }));
  for (const [estab, given] of [[held, pupils(10)], [refused, faulty()]] as const)
    await takeUpload(db, estab, (async function* () { yield await zip(given); })(), { dataDir });
}

type Targets = { fine: string; broken: string; paused: string };

/** Answered, refused with what a receiver may send, given up, and to a target that an operator has paused. */
async function addDeliveries({ service: { db }, change, settled }: Delivering, client: Client, other: Client): Promise<Targets> {
  const receiver = await useReceiver(({ url }, response) => {
    if (url.startsWith('/fine')) return 200;
    response.writeHead(503, { 'content-type': 'text/html', 'x-long': 'x'.repeat(300) }).end(`<script>alert(1)</script>${hostile}`);
  });
  const register = async (by: Client, path: string, DatabaseName = 'SchoolData') => {
    const body = JSON.stringify({ url: `${receiver.origin}${path}`, DatabaseName });
    const answer = (await (await by.s(hillTop, 'Webhook', { method: 'POST', body })).json()) as { Webhook: { Id: string }[] };
    return answer.Webhook.at(-1)?.Id ?? assert.fail(JSON.stringify(answer));
  };
  const [fine, broken] = [await register(client, '/fine'), await register(other, `/broken?${'long'.repeat(40)}`)];
  const paused = await register(client, '/paused', 'Attendance');
  await change(hillTop);
  await settled(hillTop);
  await settled(hillTop);
  await db.begin((tx) => enqueueOneOff(tx, { estab: hillTop, rp: reader, event: 'writeback', url: `${receiver.origin}/given-up`, body: { a: 1 } }));
  await settled(hillTop);
  await db`update outbox set state = 'failed', settled_at = now() where estab = ${hillTop} and state = 'waiting' and payload ->> 'event' = 'writeback'`;
  return { fine, broken, paused };
}

async function addRequests({ db, lines }: Service, client: Client): Promise<void> {
  for (const path of ['/students?limit=3', '/users/none', `/classes?filter=${encodeURIComponent(hostile)}`]) await (await client.b(hillTop, path)).text();
  await lines.write();
  await db`
    insert into request_hour select date_trunc('hour', now(), 'UTC') - make_interval(hours => at), rp, 40 + at % 7 * 9, at % 5, at % 11 / 10, 900, 40
    from generate_series(1, 330) at, unnest(${['*', reader]}::text[]) rp on conflict do nothing`;
  await db`
    insert into delivery_hour select date_trunc('hour', now(), 'UTC') - make_interval(hours => at), rp, 12 + at % 5, at % 9 / 8, 15, 2
    from generate_series(1, 330) at, unnest(${['*', reader]}::text[]) rp on conflict do nothing`;
  await db`
    insert into outbox (estab, id, kind, lane, payload, state, due_at, attempts, settled_at, body)
    select ${hillTop}, 'msg_given/up', 'mail', lane, ${db.json({ to: `${'very-'.repeat(20)}long@school.example`, subject: hostile })}, 'failed', now(), 8,
      now(), body
    from outbox where estab = ${''} and kind = 'mail' limit 1`;
}

/** One that nothing came into, and one with what the console must show as text. */
async function addInboxes({ db, seal, url }: Service): Promise<void> {
  await addInbox(db, seal, { rp: reader, name: 'Empty', answer: '410' });
  const { key } = await addInbox(db, seal, { rp: reader, name: hostile, answer: '200' });
  const send = (type: string, body: string, more: Record<string, string> = {}) =>
    fetch(`${inboxUrl(url, key)}?${encodeURIComponent(hostile)}`, { method: 'POST', headers: { 'content-type': type, ...more }, body });
  await send('application/json', JSON.stringify({ [hostile]: hostile, long: 'x'.repeat(5000), list: [1, null, { schoolSecret: 'sb_school_0123456789' }] }));
  await send('application/x-www-form-urlencoded', new URLSearchParams({ schoolSecret: 'sb_school_0123456789', [hostile]: hostile }).toString());
  await send('text/html', `<script>alert(1)</script><a href="javascript:alert(1)">${hostile}</a>`, { 'webhook-id': 'msg_1', 'webhook-signature': 'v1,x' });
  await fetch(inboxUrl(url, key));
}

/** A plan, and a backup of each state. */
async function addBackups({ db, seal, dataDir }: Service): Promise<void> {
  const { id } = await setBackupPlan(db, seal, { folder: join(dataDir, hostile), everySeconds: 86_400, keep: 14, passphrase: 'a', by: hostile }, new Date());
  await db`
    insert into backup_run (plan, why, file, host, state, started_at, bytes, took_ms, trouble, gone_at)
    select ${id}, 'upgrade', ${`/srv/${'very-'.repeat(20)}long.backup`}, ${hostile}, state, now(), 12345678, 61000,
      case state when 'failed' then ${hostile} end, now()
    from unnest(${['good', 'failed', 'cut off', 'written']}::text[]) state`;
}

async function settleWork({ db }: Service): Promise<void> {
  await until('the packages are dealt with', async () => (await db`select from import_run where estab in (${held}, ${refused})`).length === 3);
  await until('the source has failed', async () => (await db`select from component_database where estab = ${failing} and status = 'Error'`).length > 0);
}

async function listExamples({ db }: Service, targets: Targets): Promise<Record<string, string[]>> {
  const ids = async (rows: Promise<readonly { id: string }[]>) => (await rows).map(({ id }) => encodeURIComponent(id));
  const calls = await ids(db<{ id: string }[]>`select distinct on (state) id from outbox where kind = 'call' order by state, seq`);
  const own = await ids(db<{ id: string }[]>`select distinct on (state) id from outbox where kind = 'call' and rp = ${reader} order by state, seq`);
  const mails = await ids(db<{ id: string }[]>`select distinct on (state) id from outbox where kind = 'mail' order by state, seq`);
  const work = await ids(db<{ id: string }[]>`select distinct on (kind) id from outbox where kind <> 'call' order by kind, seq`);
  const runs = await db<{ estab: string; id: string }[]>`select distinct on (estab, outcome) estab, id from import_run order by estab, outcome`;
  const inboxes = await db<{ id: string }[]>`select id from inbox where rp = ${reader} order by name`;
  const came = await db<{ id: string; seq: string }[]>`select inbox as id, seq::text as seq from inbox_call order by seq`;
  const school = '/console/schools/:estab';
  const at = (rest: string, ...estabs: string[]) => estabs.map((estab) => `/console/schools/${estab}${rest}`);
  const pupil = '/roster/users/p-001';
  return {
    ...Object.fromEntries(
      [
        '', '/account', '/account/second-factor', '/operators', '/add-school', '/mail', '/work', '/backups', '/settings', '/targets', '/add-application',
        '/deliveries/tail',
      ].map((page) => [`/console${page}`, [`/console${page}`]]),
    ),
    '/console/operators/:name': ['/console/operators/viewer', '/console/operators/eve%40trust.example'],
    '/console/schools': ['/console/schools', '/console/schools?q=nobody'],
    [school]: at('', hillTop, held, refused, failing, asked),
    [`${school}/edit`]: at('/edit', held),
    [`${school}/add-application`]: at('/add-application', refused),
    [`${school}/applications/:rp`]: [...at(`/applications/${reader}`, hillTop, asked), ...at(`/applications/${odd}`, held)],
    [`${school}/upload-token`]: at('/upload-token', hillTop),
    [`${school}/logins`]: [...at('/logins', hillTop, held), ...at('/logins?q=nobody&state=locked', hillTop)],
    [`${school}/audit`]: at('/audit', hillTop),
    [`${school}/remove`]: at('/remove', held),
    [`${school}/source`]: at('/source', hillTop, held, failing),
    [`${school}/source/upload`]: at('/source/upload', refused),
    [`${school}/imports`]: at('/imports', hillTop, refused, failing),
    [`${school}/imports/:id`]: runs.flatMap(({ estab, id }) => at(`/imports/${id}`, estab)),
    [`${school}/held`]: at('/held', held, hillTop),
    [`${school}/roster`]: [...at('/roster', hillTop), ...at('/roster?q=a', hillTop)],
    [`${school}/roster/:collection/:id`]: [
      ...at(pupil, hillTop), ...at(`${pupil}?view=json`, hillTop), ...at(`${pupil}?view=application&rp=${odd}`, hillTop),
      ...at('/roster/classes/cls-7h-rg', hillTop),
    ],
    [`${school}/roster/:collection/:id/history`]: at(`${pupil}/history`, hillTop),
    [`${school}/roster/:collection/:id/attendance`]: at(`${pupil}/attendance`, hillTop),
    '/console/mail/:id': mails.map((id) => `/console/mail/${id}`),
    '/console/work/:id': work.map((id) => `/console/work/${id}`),
    '/console/audit': ['/console/audit', '/console/audit?actor=nobody'],
    '/console/deliveries': ['/console/deliveries', '/console/deliveries?rp=nobody'],
    '/console/deliveries/:id': calls.map((id) => `/console/deliveries/${id}`),
    '/console/targets/:id': Object.values(targets).map((id) => `/console/targets/${id}`),
    '/console/applications': ['/console/applications', '/console/applications?q=nobody'],
    '/console/applications/:rp': [`/console/applications/${reader}`, `/console/applications/${odd}`],
    '/console/applications/:rp/try': [
      '', '?operation=variant-b.getAllStudents_B', '?operation=school-data.writeAttendance',
    ].map((query) => `/console/applications/${reader}/try${query}`),
    '/console/applications/:rp/inboxes/:id': inboxes.map(({ id }) => `/console/applications/${reader}/inboxes/${id}`),
    '/console/applications/:rp/inboxes/:id/calls/:seq': came.map(({ id, seq }) => `/console/applications/${reader}/inboxes/${id}/calls/${seq}`),
    ...Object.fromEntries([
      'edit', 'remove', 'schools', 'webhooks', 'inboxes', 'requests', 'deliveries', 'deliveries/tail', 'targets', 'developers', 'sandbox',
    ].map((page) =>
      [`/console/applications/:rp/${page}`, [`/console/applications/${reader}/${page}`]])),
    '/console/applications/:rp/deliveries/:id': own.map((id) => `/console/applications/${reader}/deliveries/${id}`),
    '/console/applications/:rp/targets/:id': [targets.fine, targets.paused, `callback:${reader}`].map((id) =>
      `/console/applications/${reader}/targets/${encodeURIComponent(id)}`),
    '/console/applications/:rp/secrets/:kind': [`/console/applications/${reader}/secrets/client`],
  };
}
