// In charge of showing an operator what the rostering API answers about one record, to an application or to whoever might see
// everything: by the walk that answers requests, in each dialect there is. What is looked at here is no disclosure.
import { findStanding, requireReach, type Caller, type Reach } from '../access/authenticate.ts';
import { scopeNames } from '../access/scopes.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError, type ErrorCode } from '../errors.ts';
import { collections } from '../roster/collections.ts';
import type { CollectionName } from '../roster/resource.ts';
import { answerOperation, type Answering } from './answer.ts';
import type { Dialect } from './dialects/dialect.ts';
import { operations, type Operation } from './operations.ts';
import { createVersionNames } from './pin.ts';
import { readAgain } from './read-again.ts';
import { readingFrom } from './readings.ts';
import { dialects } from './dialects/all.ts';
import { createFindSight } from './sight.ts';

export type RecordJson = Readonly<Record<string, unknown>>;
export type Refusal = Readonly<{ code: ErrorCode; message: string }>;
/** record: what is answered. refused: with what instead. Neither: the dialect has no such operation. */
export type Sight = Readonly<{ dialect: string; title: string; address: string; record?: RecordJson; refused?: Refusal }>;
export type Asked = Readonly<{ estab: string; collection: CollectionName; sourcedId: string }>;

/** Who may see everything of a school. */
export async function findFullReach(db: Db, estab: string): Promise<Reach | undefined> {
  const [row] = await db<Omit<Reach, 'scopes'>[]>`select estab, id as "rosterId", version, kept_from as "keptFrom" from roster where estab = ${estab}`;
  return row && { ...row, scopes: scopeNames };
}

/** An application at this school alone, although in one dialect it may read several schools at once. */
export async function requireApplicationReach(db: Db, rp: string, estab: string): Promise<Reach> {
  const standing = await findStanding(db, rp, estab);
  const [reach] = standing ? requireReach([standing]) : [];
  if (!reach) throw new SchoolbellError('not_found', `${estab} has not authorised ${rp}`);
  return reach;
}

/** The one operation that reads a record of this collection by its id, whatever its kind. */
export function requireSingle(collection: CollectionName): Operation {
  const operation = operations.find((one) => one.collection === collection && one.single && !one.kinds && !one.relation);
  if (!operation) throw new Error(`no operation reads one of ${collection}`);
  return operation;
}

export function callerWith(rp: string, reach: Reach): Caller {
  return { rp, reach: [reach], oneRosterScopes: undefined };
}

/** In each dialect. findReach: again where the roster moved meanwhile; what it throws is what every request is answered with. */
export async function seeRecord(db: Db, publicUrl: string, rp: string, findReach: () => Promise<Reach>, asked: Asked): Promise<Sight[]> {
  const operation = requireSingle(asked.collection);
  const reading = readingFrom(db);
  const sights: Sight[] = [];
  for (const dialect of dialects) {
    const answering: Answering = {
      reading,
      findSight: createFindSight(),
      dialect,
      turnstile: async () => () => {},
      names: createVersionNames(db),
      address: publicUrl + dialect.root,
    };
    sights.push(await seeIn(answering, dialect, operation, rp, findReach, asked.sourcedId));
  }
  return sights;
}

async function seeIn(
  answering: Answering,
  dialect: Dialect,
  operation: Operation,
  rp: string,
  findReach: () => Promise<Reach>,
  sourcedId: string,
): Promise<Sight> {
  const address = `${dialect.root}${operation.path.replace(':sourcedId', encodeURIComponent(sourcedId))}`;
  const sight = { dialect: dialect.name, title: dialect.title, address };
  if (!dialect.offers(operation.name)) return sight;
  const plain = { query: {}, ifRosterVersion: undefined, ifNoneMatch: undefined, acceptEncoding: undefined, head: false };
  const given = { ...plain, rp, params: { sourcedId }, note: () => {} };
  try {
    const { body } = await readAgain(async () => answerOperation(answering, operation, callerWith(rp, await findReach()), given));
    const answered = JSON.parse(String(body)) as Record<string, RecordJson>;
    return { ...sight, record: answered[collections[operation.collection].one] ?? {} };
  } catch (error) {
    if (!(error instanceof SchoolbellError) || error.code === 'unexpected') throw error;
    return { ...sight, refused: { code: error.code, message: error.message } };
  }
}
