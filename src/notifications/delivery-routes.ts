// In charge of the addresses at which an application looks at what was sent to it, and has it sent again.
import type { FastifyInstance } from 'fastify';
import type { RequireApplicationCaller } from '../access/application-caller.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import type { AllowList } from '../http/address-guard.ts';
import { describeFault } from '../http/call-fault.ts';
import { fine } from '../http/envelope.ts';
import { refuseOtherMethods } from '../http/known-addresses.ts';
import { findParameter, parseInstant, parseWhole } from '../http/parameters.ts';
import type { Query } from '../http/query.ts';
import { countDeliveries, deliveryStates, findDelivery, listDeliveries, type Attempt, type Delivery, type DeliveryQuestion } from './deliveries.ts';
import { deliverySchemas, describeDeliveries, describeDelivery, describeReplay } from './describe-deliveries.ts';
import { keepAnswer, renderResponse } from './kept-answer.ts';
import { replayDelivery } from './replay-delivery.ts';
import { pausedWords } from './webhooks.ts';

export type Deliveries = { db: Db; reads: Db; requireCaller: RequireApplicationCaller; answersFrom: AllowList };

const root = '/api/v1/Deliveries';
const usualPageSize = 100;
const longestPage = 1000;
/** Beyond, a page would cost what there is. */
const deepest = 10_000;

export function deliveryRoutes(app: FastifyInstance, { db, reads, requireCaller, answersFrom }: Deliveries): void {
  for (const schema of deliverySchemas) app.addSchema(schema);
  app.get(root, describeDeliveries, async (request) => {
    const who = await requireCaller(request);
    const query = request.query as Query;
    const question = parseQuestion(query);
    const [rows, total] = await Promise.all([listDeliveries(reads, who, question), countDeliveries(reads, who, question, deepest)]);
    return {
      Deliveries: rows.map((row) => ({ ...render(row), Attempts: row.attempts })),
      __pagination__: [renderPagination(question, query, total)],
      ...fine,
      Message: total < deepest ? null : `There are ${deepest} or more; narrow them down with state, since or until.`,
    };
  });
  app.get(`${root}/:id`, describeDelivery, async (request) => {
    const who = await requireCaller(request);
    const delivery = await findDelivery(reads, who, requireId(request.params));
    if (!delivery) throw new SchoolbellError('not_found', 'There is no such delivery; what was settled is kept for 30 days at most.');
    const withheld = delivery.log.some((attempt) => attempt.status !== null && !keep(attempt, delivery, answersFrom));
    return {
      Deliveries: [{ ...render(delivery), Attempts: delivery.log.map((attempt) => renderAttempt(attempt, delivery, answersFrom)) }],
      ...fine,
      Message: withheld ? 'What a receiver at an address that is not public answered is not kept.' : null,
    };
  });
  app.post(`${root}/:id/Replay`, describeReplay, async (request, reply) => {
    const { id, ended, paused } = await replayDelivery(db, requireId(request.params), await requireCaller(request));
    const message = ended === null ? null : `The target had been disabled (${ended}); it is tried again.`;
    return reply.code(202).send({ DeliveryId: id, ...fine, Message: paused ? `The target is ${pausedWords}.` : message });
  });
  refuseOtherMethods(app, root, ['GET']);
  refuseOtherMethods(app, `${root}/:id`, ['GET']);
}

/** PostgreSQL has no NUL in a text, so that nothing is known by one. */
function requireId(params: unknown): string {
  return (params as { id: string }).id.replaceAll('\0', '?');
}

function parseQuestion(query: Query): DeliveryQuestion {
  const state = findParameter(query, 'state');
  const states = deliveryStates.filter((one) => state === undefined || one === state.toLowerCase());
  if (states.length === 0) throw new SchoolbellError('invalid_request', `state: "${state?.slice(0, 40)}" is none of ${deliveryStates.join(', ')}.`);
  const page = parseWhole(query, 'page') ?? 1;
  const pageSize = parseWhole(query, 'pageSize') ?? usualPageSize;
  if (pageSize > longestPage) throw new SchoolbellError('invalid_request', `pageSize: ${pageSize} is more than a page holds, which is ${longestPage}.`);
  if (page * pageSize > deepest)
    throw new SchoolbellError('invalid_request', `page ${page} is beyond the first ${deepest}; narrow them down with state, since or until.`);
  return { states, since: parseInstant(query, 'since'), until: parseInstant(query, 'until'), page, pageSize };
}

/** NextPage can be followed as it is: it has whatever else was asked. */
function renderPagination({ page, pageSize }: DeliveryQuestion, query: Query, total: number) {
  const pages = Math.max(1, Math.ceil(total / pageSize));
  const rest = Object.entries(query).filter(([name]) => !/^page(size)?$/i.test(name)).map(([name, values]) => [name, values[0] ?? '']);
  const next = new URLSearchParams({ ...(Object.fromEntries(rest) as Record<string, string>), page: String(page + 1), pageSize: String(pageSize) });
  return { PageSize: pageSize, PageNumber: page, PageCount: pages, RowCount: total, ...(page < pages ? { NextPage: `?${next.toString()}` } : {}) };
}

function render(delivery: Delivery) {
  return {
    Id: delivery.id,
    Kind: delivery.event ?? '',
    Estab: delivery.estab,
    WebhookId: delivery.webhookId,
    DatabaseName: delivery.databaseName,
    Method: delivery.method,
    Url: delivery.url,
    State: delivery.state,
    Created: delivery.createdAt.toISOString(),
    NextAttempt: delivery.state === 'waiting' && delivery.target !== 'disabled' && delivery.pausedAt === null ? delivery.dueAt.toISOString() : null,
    Settled: delivery.settledAt?.toISOString() ?? null,
    LastStatus: delivery.status,
    LastError: describeFault(delivery) ?? null,
    TargetState: delivery.target,
    TargetMessage: describeTarget(delivery),
  };
}

function describeTarget({ target, targetWhy, failingSince, pausedAt }: Delivery): string | null {
  if (pausedAt !== null) return pausedWords;
  if (target === 'disabled')
    return `${targetWhy ?? 'disabled'}; nothing more is sent there until a delivery is replayed, or its registration tested or made again`;
  return failingSince === null ? null : `nothing but failures since ${failingSince.toISOString()}${target === 'paused' ? '; paused for a moment' : ''}`;
}

const keep = ({ address, headers, response }: Attempt, { sealed }: Delivery, answersFrom: AllowList) =>
  keepAnswer({ headers: headers ?? {}, response: response ?? undefined }, { address, sealed, answersFrom });

/** Judged again: what was kept under other settings is not shown under these. */
function renderAttempt(attempt: Attempt, delivery: Delivery, answersFrom: AllowList) {
  const answer = attempt.status === null ? undefined : keep(attempt, delivery, answersFrom);
  return {
    At: attempt.at.toISOString(),
    Status: attempt.status,
    Error: describeFault(attempt) ?? null,
    Address: attempt.address,
    Milliseconds: attempt.milliseconds === null ? null : Math.round(attempt.milliseconds),
    ResponseHeaders: answer?.headers ?? null,
    Response: answer?.response ? renderResponse(answer.response) : null,
  };
}
