// In charge of the addresses at which an application registers for database events.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RequireSchoolCaller, SchoolCaller } from '../access/school-caller.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { fine } from '../http/envelope.ts';
import { refuseOtherMethods } from '../http/known-addresses.ts';
import type { Query } from '../http/query.ts';
import { announceMissing } from './announce.ts';
import { databases, findDatabase } from './databases.ts';
import {
  describeListWebhooks, describeRegister, describeRemoveWebhook, describeTestWebhook, describeWebhook, webhookSchemas,
} from './describe-webhooks.ts';
import type { RequireTarget } from './inbox/require-target.ts';
import { testRegistration } from './steer-target.ts';
import { findWebhook, listDisabled, listWebhooks, registerWebhook, removeWebhook, type Webhook } from './webhooks.ts';

export type Notifications = { db: Db; requireCaller: RequireSchoolCaller; requireTarget: RequireTarget };

const root = '/api/v1/Webhook';
const parameters = ['url', 'databasename', 'method'];

export function notificationRoutes(app: FastifyInstance, notifications: Notifications): void {
  const { db, requireCaller } = notifications;
  const caller = (request: FastifyRequest) => requireCaller(request);
  for (const schema of webhookSchemas) app.addSchema(schema);

  app.post(root, describeRegister, async (request, reply) => {
    const { replaced, answer } = await register(notifications, await caller(request), readBody(request.body));
    return reply.code(replaced ? 200 : 201).send(answer);
  });
  app.get(root, describeListWebhooks, async (request, reply) => {
    const who = await caller(request);
    const given = readQuery(request.query as Query);
    // HEAD asks what a GET would answer; it must not change anything.
    if (given.size === 0 || request.method === 'HEAD') return render(db, await listWebhooks(db, who.estab, who.rp));
    const { replaced, answer } = await register(notifications, who, given);
    return reply.code(replaced ? 200 : 201).send(answer);
  });
  app.get(`${root}/:id`, describeWebhook, async (request) => {
    const who = await caller(request);
    return render(db, [await requireWebhook(db, who, request)]);
  });
  app.delete(`${root}/:id`, describeRemoveWebhook, async (request) => {
    const who = await caller(request);
    if (!(await removeWebhook(db, who.estab, who.rp, (request.params as { id: string }).id)))
      throw new SchoolbellError('not_found', 'There is no such registration.');
    return { Webhook: [], ...fine, Message: 'removed' };
  });
  app.post(`${root}/:id/Test`, describeTestWebhook, async (request, reply) => {
    const who = await caller(request);
    const webhook = await requireWebhook(db, who, request);
    requireScope(who, webhook.databaseName);
    return reply.code(202).send({ DeliveryId: await testRegistration(db, webhook), ...fine });
  });
  refuseOtherMethods(app, root, ['GET', 'POST']);
  refuseOtherMethods(app, `${root}/:id`, ['GET', 'DELETE']);
}

async function requireWebhook(db: Db, { estab, rp }: SchoolCaller, request: FastifyRequest): Promise<Webhook> {
  const webhook = await findWebhook(db, estab, rp, (request.params as { id: string }).id);
  if (!webhook) throw new SchoolbellError('not_found', 'There is no such registration.');
  return webhook;
}

/** A registration that is held back says so. */
async function render(db: Db, webhooks: readonly Webhook[]): Promise<object> {
  const disabled = await listDisabled(db, webhooks);
  const message = disabled.map(({ id, why, paused }) => `${id}: ${why}.${paused ? '' : ' Send a test or register again to resume.'}`).join(' ');
  return { Webhook: webhooks.map(renderOne), ...fine, Message: message === '' ? null : message };
}

function requireScope(who: SchoolCaller, databaseName: string): void {
  const needed = databases[databaseName] ?? [];
  if (!needed.some((scope) => who.scopes.includes(scope)))
    throw new SchoolbellError('forbidden', `The school has not granted a scope that opens ${databaseName}: it needs one of ${needed.join(', ')}.`);
}

async function register(notifications: Notifications, who: SchoolCaller, given: ReadonlyMap<string, string>): Promise<{ replaced: boolean; answer: object }> {
  const { db, requireTarget } = notifications;
  const url = given.get('url');
  if (!url) throw new SchoolbellError('invalid_request', '"url" is missing: the address to call when the data changes.');
  const databaseName = findDatabase(given.get('databasename') ?? '');
  if (!databaseName)
    throw new SchoolbellError(
      'invalid_request',
      `"DatabaseName" is ${given.has('databasename') ? `"${given.get('databasename')?.slice(0, 60)}"` : 'missing'}; ` +
        `it must be one of ${Object.keys(databases).join(', ')}.`,
    );
  const method = (given.get('method') ?? 'GET').toUpperCase();
  if (method !== 'GET' && method !== 'POST') throw new SchoolbellError('invalid_request', '"Method" must be GET or POST.');
  requireScope(who, databaseName);
  const remark = await requireTarget('url', url, who.rp);
  const { webhook, replaced } = await registerWebhook(db, { estab: who.estab, rp: who.rp, databaseName, url, method });
  if (replaced) await db.begin((tx) => announceMissing(tx, who));
  return { replaced, answer: { Webhook: [renderOne(webhook)], ...fine, Message: remark ?? null } };
}

/** Keys in any case, as clients differ. */
function readBody(body: unknown): Map<string, string> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new SchoolbellError('invalid_request', 'The body must be a JSON object with url and DatabaseName.');
  const entries = Object.entries(body)
    .filter(([name]) => parameters.includes(name.toLowerCase()))
    .map(([name, value]) => {
      if (typeof value !== 'string') throw new SchoolbellError('invalid_request', `"${name}" must be a string.`);
      return [name.toLowerCase(), value] as const;
    });
  return new Map(entries);
}

function readQuery(query: Query): Map<string, string> {
  const repeated = Object.entries(query).find(([, values]) => values.length > 1);
  if (repeated) throw new SchoolbellError('invalid_request', `${repeated[0]} is given ${repeated[1].length} times; give it once.`);
  return new Map(Object.entries(query).map(([name, values]) => [name.toLowerCase(), values[0] ?? '']));
}

function renderOne({ id, estab, rp, databaseName, url, method, createdAt, updatedAt }: Webhook) {
  return {
    Id: id,
    Estab: estab,
    RelyingParty: rp,
    DatabaseName: databaseName,
    Url: url,
    Method: method,
    Created: createdAt.toISOString(),
    Updated: updatedAt.toISOString(),
  };
}
