// In charge of the addresses of school data: the data endpoints, what a caller can learn about itself, and writeback.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { buffer } from 'node:stream/consumers';
import type { Ledger } from '../access/disclosures.ts';
import type { RequireSchoolCaller, SchoolCaller } from '../access/school-caller.ts';
import { readDatabases } from '../collection/component-databases.ts';
import type { Db } from '../db/connect.ts';
import type { Prefer } from '../db/replicas.ts';
import { SchoolbellError } from '../errors.ts';
import { cutText } from '../http/cut-text.ts';
import { fine } from '../http/envelope.ts';
import { requireKnownNames } from '../http/known-parameters.ts';
import { notTaken, refuseAt, refuseOtherMethods } from '../http/known-addresses.ts';
import { findParameter, isGiven } from '../http/parameters.ts';
import { requireWellFormed, type Query } from '../http/query.ts';
import { noteRecords } from '../http/request-log.ts';
import { sendRead, type SlowReaderLimit } from '../http/slow-reader.ts';
import type { RequireTarget } from '../notifications/inbox/require-target.ts';
import type { ListFolder } from '../roster/list-folder.ts';
import { aboutParameters, findAbout, type AboutCaller } from './about.ts';
import { answerData, requireRow } from './answer.ts';
import { readStanding } from './standing.ts';
import { answerMarks } from './answer-marks.ts';
import { beginWait, refreshStale } from './availability.ts';
import { endpoints, findEndpoint, type Endpoint } from './catalogue.ts';
import { aboutNames, describeAbout } from './describe-about.ts';
import { dataSchemas, describeEndpoint } from './describe-endpoint.ts';
import { describeMarks, describeOutcome, marksSchemas } from './describe-marks.ts';
import { parseDataRequest, type DataRequest } from './data-request.ts';
import { renderStatus } from './db-status.ts';
import { readOpenedDatabases } from './opened-databases.ts';
import { createOutcomeWaits } from './outcome-waits.ts';
import { findOutcome } from './outcome.ts';

export type SchoolData = {
  db: Db;
  prefer: Prefer<Readonly<{ reads: Db; lists: Db }>>;
  /** Where lists are kept as files. */
  folder: ListFolder;
  requireCaller: RequireSchoolCaller;
  requireTarget: RequireTarget;
  ledger: Ledger;
  slowReader: SlowReaderLimit;
  now: () => number;
  /** How often a request that waits for an outcome looks by itself. */
  lookEveryMs?: number | undefined;
};

const root = '/api/v1';
/** As many rows as one batch has. */
const longestPage = 1000;
const marksName = 'attendance';
const marksBytes = 8 * 1024 * 1024;
/** The MIS is waited for, 30 s at most, between what the database may take before and after. */
const longestWriteMs = 44_000;
const others = ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'] as const;
const json = 'application/json; charset=utf-8';
type Params = { estab?: string; name: string; id?: string };
/** Read by the handler, which may have somebody to tell what is wrong with the query. */
const ownQuery = { config: { readsMalformedQuery: true } };
const hidden = { schema: { hide: true } };
/** Data at the root is logged and counted like data under /api/v1. */
const atRoot = { config: { ...ownQuery.config, isApi: true as const }, ...hidden };

export function schoolDataRoutes(app: FastifyInstance, data: SchoolData): void {
  const waits = createOutcomeWaits(data.db, data.lookEveryMs);
  app.addHook('preClose', () => waits.end());
  /** Under its own name, or under one that is still to be looked for. */
  const readAs = (name?: string) => async (request: FastifyRequest, reply: FastifyReply) => {
    const params = name === undefined ? (request.params as Params) : { ...(request.params as Omit<Params, 'name'>), name };
    // HEAD asks what a GET would answer; nobody is called for it.
    if (request.method !== 'HEAD' && isGiven(request.query as Query, 'callbackUrl'))
      return answerLater(data, await requireOwn(data, request), params, request.query as Query, reply);
    const asked = requireAsked(params);
    return answerNow(data, await requireOwn(data, request), asked, request.query as Query, reply);
  };
  const write = async (request: FastifyRequest, reply: FastifyReply) => {
    const params = request.params as Partial<Params>;
    if (params.name !== undefined && params.name.toLowerCase() !== marksName) throw refuseVerb(params as Params);
    return answerMarks({ ...data, waits }, await requireOwn(data, request), request, reply);
  };
  for (const schema of [...dataSchemas, ...marksSchemas]) app.addSchema(schema);
  for (const endpoint of endpoints) {
    const read = readAs(endpoint.name);
    for (const named of [true, false]) {
      const path = `${root}${named ? '/School/:estab' : ''}/${endpoint.name}`;
      app.get(path, { ...ownQuery, ...describeEndpoint(endpoint, { named, row: false }) }, read);
      if (endpoint.valuesOfId) app.get(`${path}/:id`, { ...ownQuery, ...describeEndpoint(endpoint, { named, row: true }) }, read);
    }
    app.get(`/${endpoint.name}`, atRoot, read);
    if (endpoint.valuesOfId) app.get(`/${endpoint.name}/:id`, atRoot, read);
  }
  for (const name of aboutNames) {
    app.get(`${root}/School/:estab/${name}`, { ...ownQuery, ...describeAbout(name, true) }, readAs(name));
    app.get(`${root}/${name}`, { ...ownQuery, ...describeAbout(name, false) }, readAs(name));
    app.get(`/${name}`, atRoot, readAs(name));
  }
  // Any other name is none; whoever gave a callbackUrl is called and told so.
  const read = readAs();
  for (const path of [`${root}/School/:estab/:name`, `${root}/School/:estab/:name/:id`, `${root}/:name`, `${root}/:name/:id`])
    app.get(path, { ...ownQuery, ...hidden }, read);
  const writing = { bodyLimit: marksBytes, config: { longestMs: longestWriteMs } };
  app.post(`${root}/School/:estab/:name`, { ...writing, ...hidden }, write);
  app.post(`${root}/School/:estab/Attendance`, { ...writing, ...describeMarks('writeAttendance') }, write);
  app.post(`${root}/Attendance/:estab`, { ...writing, ...describeMarks('writeAttendanceByEstab') }, write);
  app.get(`${root}/Writeback/:trackingId`, describeOutcome, async (request) => {
    const who = await data.requireCaller(request);
    const outcome = await findOutcome(data.db, who.estab, who.rp, (request.params as { trackingId: string }).trackingId);
    if (!outcome) throw new SchoolbellError('not_found', 'There is no such writeback.');
    return { ...fine, ...outcome };
  });
  const refuse = ({ params }: FastifyRequest) => refuseVerb(params as Params);
  refuseAt(app, `${root}/School/:estab/:name`, others, refuse);
  for (const path of [`${root}/:name`, `${root}/:name/:id`, `${root}/School/:estab/:name/:id`]) refuseAt(app, path, ['POST', ...others], refuse);
  refuseOtherMethods(app, `${root}/Attendance/:estab`, ['POST']);
  refuseOtherMethods(app, `${root}/Writeback/:trackingId`, ['GET']);
}

/** The caller, if the address is of its own school. */
async function requireOwn({ requireCaller }: SchoolData, request: FastifyRequest): Promise<SchoolCaller> {
  const who = await requireCaller(request);
  const { estab } = request.params as Partial<Params>;
  if (estab !== undefined && estab !== who.estab) throw new SchoolbellError('forbidden', `The token is for ${who.estab}, not for ${estab.slice(0, 40)}.`);
  return who;
}

/** Of a name that is none it is said that there is none, whatever the verb. */
function refuseVerb(params: Params): SchoolbellError {
  requireAsked(params);
  return notTaken(['GET', 'HEAD']);
}

type Asked = Readonly<{ endpoint: Endpoint; row: string | undefined }> | AboutCaller;

/** What an address names. */
function requireAsked({ estab, name, id }: Params): Asked {
  if (name.toLowerCase() === marksName) {
    if (estab !== undefined && id === undefined) throw notTaken(['POST']);
    throw new SchoolbellError('not_found', 'Marks are written with POST to /api/v1/School/{estab}/Attendance, and read at AttendanceForDate.');
  }
  const endpoint = findEndpoint(name);
  const about = findAbout(name);
  if (!endpoint && !about) throw new SchoolbellError('not_found', `There is no "${cutText(name, 40)}"; /api/v1/Queries lists what there is.`);
  if (id !== undefined && !endpoint?.valuesOfId)
    throw new SchoolbellError('not_found', `${endpoint?.name ?? about?.name} has no rows by Id; /api/v1/Queries lists what has.`);
  return endpoint ? { endpoint, row: id } : (about as Asked);
}

function requireScope(who: SchoolCaller, { name, scope }: Endpoint): void {
  if (!who.scopes.includes(scope)) throw new SchoolbellError('forbidden', `The school has not granted ${scope}, which ${name} needs.`);
}

/** Out of the cache; what has grown old is refreshed behind it. */
async function answerNow(
  { db, prefer, folder, ledger, slowReader, now }: SchoolData,
  who: SchoolCaller,
  asked: Asked,
  query: Query,
  reply: FastifyReply,
): Promise<unknown> {
  requireWellFormed(query);
  if ('answer' in asked) {
    requireKnownNames(query, aboutParameters, asked.name);
    return asked.answer(db, who);
  }
  const { endpoint, row } = asked;
  requireScope(who, endpoint);
  const request = parseDataRequest(query, endpoint, row);
  await db.begin((tx) => refreshStale(tx, who.estab, endpoint.databases));
  if (request.onlyStatus)
    return renderStatus({ estab: who.estab, endpoint: endpoint.name, requestId: null, databases: await readOpenedDatabases(db, who, endpoint.databases) });
  const tell = (records: number) => {
    if (records === 0 || reply.request.method === 'HEAD') return;
    noteRecords(reply.request, records);
    ledger.note({ estab: who.estab, rp: who.rp, collection: endpoint.name, records, fields: request.fields });
  };
  const small = isSmall(request, endpoint);
  const body = await prefer(async ({ reads, lists, isReplica }) => {
    const standing = isReplica ? await readStanding(db, who.estab) : undefined;
    const from = { db: small ? reads : lists, folder, standing };
    if (!small) return answerData(from, who, endpoint, request, new Date(now()), tell);
    // What is small is read before it is sent, so that no reader holds a connection of the small reads.
    let records = 0;
    const bytes = await buffer(await answerData(from, who, endpoint, request, new Date(now()), (read) => (records = read)));
    tell(records);
    return bytes;
  });
  return sendRead(reply.type(json), body, slowReader);
}

/** Few rows are read at once, and wait for no reader of a whole list. */
function isSmall({ pageSize, row }: DataRequest, { source }: Endpoint): boolean {
  return 'constant' in source || row !== undefined || (pageSize !== undefined && pageSize <= longestPage);
}

/** Who calls, what they may and where to call back is judged at once; whatever else is wrong is told to the callbackUrl. */
async function answerLater({ db, requireTarget }: SchoolData, who: SchoolCaller, params: Params, query: Query, reply: FastifyReply): Promise<unknown> {
  const endpoint = findEndpoint(params.name);
  if (endpoint) requireScope(who, endpoint);
  const callbackUrl = findParameter(query, 'callbackUrl') ?? '';
  await requireTarget('callbackUrl', callbackUrl, who.rp);
  const { name, databases } = endpoint ?? findAbout(params.name) ?? { name: cutText(params.name.replaceAll('\0', ''), 40), databases: [] };
  const problem = await findProblem(async () => {
    const asked = requireAsked(params);
    requireWellFormed(query);
    if ('answer' in asked) {
      requireKnownNames(query, aboutParameters, asked.name);
      return;
    }
    const wanted = parseDataRequest(query, asked.endpoint, asked.row);
    // What is being collected may bring the row.
    if ((await readDatabases(db, who.estab, databases)).every(({ status }) => status === 'OK')) await requireRow(db, who, asked.endpoint, wanted);
  });
  return reply.code(202).send(await beginWait(db, who, { name, databases }, callbackUrl, problem));
}

async function findProblem(judge: () => Promise<void>): Promise<SchoolbellError | undefined> {
  try {
    await judge();
    return undefined;
  } catch (error) {
    if (error instanceof SchoolbellError) return error;
    throw error;
  }
}
