// In charge of what an operator or a developer of its application does with a target: pause it, let it go on, open it again after it was given up, test it.
import type { Db, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { openLane, pauseLane, resumeLane } from '../outbox/pause-lane.ts';
import { announceMissing, sendTest } from './announce.ts';
import { hostOf } from './move-callback.ts';
import { requireAuthorised } from './replay-delivery.ts';
import { testCallback } from './test-callback.ts';
import { requireTarget, type Target, type TargetOwner } from './targets.ts';
import { callsAtOnce, laneKey, pausedWords, type Webhook } from './webhooks.ts';

/** Nothing is sent there until it is resumed; what comes meanwhile waits. by: who does it, as it is shown. */
export async function pauseTarget(db: Db, id: string, by: string, owner: TargetOwner = {}): Promise<Target> {
  return db.begin(async (tx) => {
    const target = await requireKept(tx, id, owner);
    const { key, url, kind, pausedAt } = target;
    if (!(await pauseLane(tx, { key, host: hostOf(url), width: callsAtOnce, lasting: kind !== 'one-off' }, by)))
      throw new SchoolbellError('conflict', `This target is paused already${pausedAt ? `, since ${pausedAt.toISOString()}` : ''}.`);
    return target;
  });
}

/** What waits goes out in its order, and what failed before does not count. A target that was given up stays so. */
export async function resumeTarget(db: Db, id: string, owner: TargetOwner = {}): Promise<Target> {
  return db.begin(async (tx) => {
    const target = await requireTarget(tx, id, owner);
    if (!(await resumeLane(tx, target.key))) throw new SchoolbellError('conflict', 'This target is not paused.');
    return target;
  });
}

/** One that was given up takes calls again; of changes that its registration missed it is told. What had failed can be replayed. */
export async function enableTarget(db: Db, id: string, owner: TargetOwner = {}): Promise<Target> {
  const target = await requireTarget(db, id, owner);
  if (target.disabledAt === null) throw new SchoolbellError('conflict', 'This target is not disabled.');
  await openLane(db, target.key);
  if (target.estab !== null) await tellMissed(db, { estab: target.estab, rp: target.rp });
  return target;
}

/** A test event now; gives its id. It opens what was given up, since it is how one finds out whether it works again. */
export async function testTarget(db: Db, id: string, owner: TargetOwner = {}): Promise<string> {
  const { kind, key, estab, rp, databaseName, url, method } = await requireTarget(db, id, owner);
  if (kind === 'callback') return testCallback(db, rp);
  if (kind !== 'registration' || estab === null || databaseName === null || method === null)
    throw new SchoolbellError('conflict', 'URLs that come with a request cannot be tested: each is called once, with the result of its request.');
  await requireAuthorised(db, { estab, rp, lane: key });
  return testRegistration(db, { estab, id: id.toLowerCase(), rp, databaseName, url, method });
}

export async function testRegistration(db: Db, webhook: Omit<Webhook, 'createdAt' | 'updatedAt'>): Promise<string> {
  const sent = await db.begin(async (tx) => {
    const [lane] = await tx<{ paused: boolean }[]>`select paused_at is not null as paused from lane where key = ${laneKey(webhook.id)} for update`;
    if (lane?.paused) throw new SchoolbellError('conflict', `The target is ${pausedWords}. It can be tested once it is resumed.`);
    return sendTest(tx, webhook);
  });
  await tellMissed(db, webhook);
  return sent;
}

/** On its own: whoever announces locks registrations before their lanes, and would wait for one who holds a lane and asks for a registration. */
const tellMissed = (db: Db, { estab, rp }: Pick<Webhook, 'estab' | 'rp'>) => db.begin((tx) => announceMissing(tx, { estab, rp }));

/** Whose registration or application goes away meanwhile waits: nothing would end a pause of what is no more. */
async function requireKept(tx: Tx, id: string, owner: TargetOwner): Promise<Target> {
  const { estab, rp, kind } = await requireTarget(tx, id, owner);
  if (kind === 'registration') await tx`select from webhook where estab = ${estab} and id = ${id}::uuid for key share`;
  else await tx`select from application where rp = ${rp} for key share`;
  return requireTarget(tx, id, owner);
}
