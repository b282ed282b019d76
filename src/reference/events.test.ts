// Holds what is described of events to what arrives: each kind is made to happen at the demo, received by a real receiver, and
// held to its schema and to its headers. `UPDATE_GOLDEN=1` keeps what arrived as the examples of the documents.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { askApp } from '../../test/ask-app.ts';
import { createAsking, authorise, type Asking } from '../../test/ask-described.ts';
import { useReceiver, type Arrival } from '../../test/delivery.ts';
import { createValidate, readDocuments } from '../../test/described.ts';
import { root } from '../../test/generate.ts';
import { testSecretKey, useService } from '../../test/service.ts';
import { until } from '../../test/until.ts';
import { registerDays } from '../collection/connectors/demo/demo-attendance.ts';
import { authorisationCommands } from '../commands/authorisation.ts';
import { readConfig } from '../config.ts';
import { prepareDemo, type DemoCredentials } from '../demo.ts';
import { announceChange } from '../notifications/announce.ts';
import { renderSignature } from '../notifications/sign.ts';
import { listOperations } from './document.ts';
import { eventExamplesFile, readEventExamples } from './events.ts';

const updating = process.env.UPDATE_GOLDEN === '1';
const service = await useService({ OUTBOUND_ALLOW: '127.0.0.0/8' });
const { app, db, seal } = service;
const document = (await readDocuments(app))['school-data'];
const validate = createValidate(document);
const described = listOperations(document.webhooks ?? {});
const receiver = await useReceiver();
let asking: Asking;
let demo: DemoCredentials;

before(async () => {
  const config = readConfig({ DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir });
  demo = await prepareDemo(db, seal, config);
  asking = createAsking(app, db, demo);
  await db`update application set callback_url = ${`${receiver.origin}/decided`}, state_events = true where rp = ${demo.rp}`;
  await service.work();
});

async function ask<T>(method: 'GET' | 'POST', url: string, payload?: object): Promise<T> {
  const headers = { authorization: await authorise(asking, 'schoolToken') };
  const response = await askApp(app, { method, url, headers, ...(payload ? { payload } : {}) });
  assert.ok(response.statusCode < 300, response.body);
  return response.json<T>();
}

async function arrival(path: string, which: (one: Arrival) => boolean = () => true): Promise<Arrival> {
  const find = () => receiver.arrivals.find((one) => one.url.startsWith(path) && which(one));
  await until(`a call of ${path}`, async () => find() !== undefined, () => receiver.arrivals.map(({ url }) => url));
  const found = find();
  assert.ok(found);
  return found;
}

const arrived: Record<string, unknown> = {};

/** Says what was in the body. */
function check(id: string, { method, url, headers, body }: Arrival): unknown {
  const one = described.find(({ operation }) => operation.operationId === id);
  assert.ok(one, id);
  const { verb, operation: { parameters = [], requestBody } } = one;
  assert.equal(method.toLowerCase(), verb, id);
  const given = new URL(url, 'http://x').searchParams;
  for (const { name, in: place, required } of parameters)
    if (required) assert.ok(place === 'query' ? given.get(name) : headers[name], `${id}: ${name}`);
  const own = Object.keys(headers).filter((name) => /^(webhook|schoolbell)-|^user-agent$/.test(name));
  assert.deepEqual(own.filter((name) => !parameters.some((parameter) => parameter.name === name)), [], id);
  const signature = renderSignature(String(headers['webhook-id']), Number(headers['webhook-timestamp']), body, [demo.signingSecret]);
  assert.equal(headers['webhook-signature'], signature, id);
  const [media] = Object.entries(requestBody?.content ?? {});
  if (!media) return assert.equal(body.length, 0, id);
  const [type, { schema = {} }] = media;
  assert.equal(headers['content-type'], type, id);
  const content: unknown = type === 'application/json' ? JSON.parse(body.toString()) : Object.fromEntries(new URLSearchParams(body.toString()));
  assert.deepEqual(validate(schema, content), [], `${id}: ${body.toString()}`);
  arrived[id] ??= content;
  return content;
}

test('data that was asked for is announced as described', async () => {
  const day = registerDays(new Date()).at(-1) ?? '';
  const callbackUrl = encodeURIComponent(`${receiver.origin}/ready?school=${demo.estab}`);
  const { RequestId } = await ask<{ RequestId: string }>('GET', `/api/v1/AttendanceForDate?date=${day}&callbackUrl=${callbackUrl}`);
  assert.equal((check('onDataAvailable', await arrival('/ready')) as { RequestId: string }).RequestId, RequestId);
  await ask('GET', `/api/v1/NoSuchThing?callbackUrl=${encodeURIComponent(`${receiver.origin}/unknown`)}`);
  assert.equal((check('onDataAvailable', await arrival('/unknown')) as { ExceptionType: string }).ExceptionType, 'not_found');
});

test('changes of a database and the outcome of a writeback are told as described', async () => {
  const register = (DatabaseName: string, Method: string) =>
    ask<{ Webhook: { Id: string }[] }>('POST', '/api/v1/Webhook', { url: `${receiver.origin}/changed/${DatabaseName}?own=1`, DatabaseName, Method });
  const { Webhook: [registered] } = await register('SchoolData', 'GET');
  await register('Attendance', 'POST');
  const [student] = await db<{ id: string }[]>`
    select sourced_id as id from roster_user where estab = ${demo.estab} and kind = 'student' and status = 'active' order by sourced_id limit 1`;
  const mark = { StudentId: student?.id, MarkType: 'S', Date: registerDays(new Date()).at(-1), Session: 'AM' };
  const write = (Mark: string, path: string) =>
    ask('POST', `/api/v1/School/${demo.estab}/Attendance`, { Marks: [{ ...mark, Mark, Notes: 'Telephoned' }], callback: { Url: `${receiver.origin}${path}` } });
  await write('M', '/written?own=1');
  assert.equal((check('onWritebackEnded', await arrival('/written')) as { Status: string }).Status, 'Completed');
  check('onDatabaseChangedByPost', await arrival('/changed/Attendance'));
  await db.begin((tx) => announceChange(tx, demo.estab, 'SchoolData'));
  check('onDatabaseChanged', await arrival('/changed/SchoolData'));
  await ask('POST', `/api/v1/Webhook/${registered?.Id}/Test`);
  check('onDatabaseChanged', await arrival('/changed/SchoolData', ({ headers }) => headers['schoolbell-test'] === 'true'));
});

test('the decisions of a school are told as described', async () => {
  const decide = (name: string) => {
    const command = authorisationCommands.find((one) => one.name === name);
    assert.ok(command);
    return command.run({ db, seal, config: readConfig({}) }, { options: { rp: demo.rp, estab: demo.estab }, positionals: [] });
  };
  const form = (which: (fields: URLSearchParams) => boolean) => arrival('/decided', ({ body }) => which(new URLSearchParams(body.toString())));
  await decide('authorise');
  const approved = check('onAuthentication', await form((fields) => fields.has('schoolSecret'))) as Record<string, string>;
  assert.match(approved.schoolSecret ?? '', /^sb_school_/);
  await decide('pause');
  assert.equal((check('onAuthentication', await form((fields) => fields.has('status'))) as Record<string, string>).status, 'Paused');
});

test('the examples are what arrived: each fits, and nothing in them opens anything', () => {
  if (updating) {
    const { onAuthentication, ...others } = arrived;
    const hidden = { ...(onAuthentication as object), schoolSecret: 'sb_school_example-schoolSecret' };
    writeFileSync(join(root, eventExamplesFile), `${JSON.stringify({ onAuthentication: hidden, ...others }, null, 2)}\n`);
  }
  const examples = readEventExamples();
  const withBody = described.filter(({ operation }) => operation.requestBody);
  assert.deepEqual(Object.keys(examples).toSorted(), withBody.map(({ operation }) => operation.operationId).toSorted());
  for (const { operation } of withBody) {
    const [{ schema = {} } = {}] = Object.values(operation.requestBody?.content ?? {});
    assert.deepEqual(validate(schema, examples[operation.operationId ?? '']), [], operation.operationId);
  }
  assert.doesNotMatch(JSON.stringify(examples), /\b(?:sb_(?:school|mgmt|client|upload)|whsec)_(?!example-)/);
});
