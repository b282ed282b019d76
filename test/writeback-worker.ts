// In charge of a worker process that the writeback tests can lose: it writes marks like any other, and kills itself at
// the step that it is told when the work is of the school that it is told.
import { writeSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { createSeal } from '../src/access/seal.ts';
import type { ConnectorParts } from '../src/collection/connector-settings.ts';
import { readConfig } from '../src/config.ts';
import { connect, type Db } from '../src/db/connect.ts';
import { parseAllowList } from '../src/http/address-guard.ts';
import { createOutbound } from '../src/http/outbound.ts';
import { createDelivery } from '../src/notifications/deliver.ts';
import { callKind } from '../src/notifications/webhooks.ts';
import { startWorker, type Handler } from '../src/outbox/worker.ts';
import { writebackKind } from '../src/schooldata/submit-marks.ts';
import { createWriteback } from '../src/schooldata/write-back.ts';

/**
 * In this order: before anything, before the turn is taken, when it is, before the MIS has committed, when it has
 * answered, before our commit, after it.
 */
export const steps = ['claimed', 'turning', 'turned', 'writing', 'answered', 'finishing', 'finished'] as const;

type Begin = (work: (tx: never) => Promise<unknown>) => Promise<unknown>;

async function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
}

/** The same pool, but its transactions go through `begin`. */
function withBegin(db: Db, begin: (really: Begin) => Begin): Db {
  return new Proxy(db, { get: (target, name) => (name === 'begin' ? begin((work) => target.begin(work as never)) : (Reflect.get(target, name) as unknown)) });
}

async function run(): Promise<void> {
  const text = { type: 'string' } as const;
  const { values: told } = parseArgs({ options: { step: { ...text, default: 'never' }, estab: { ...text, default: '' } } });
  const config = readConfig();
  const [db, mis] = [
    connect(config.databaseUrls?.[0] ?? '', { max: 6, name: 'lost worker' }),
    connect(config.databaseUrls?.[0] ?? '', { max: 2, name: 'lost mis' }),
  ];
  const seal = createSeal(config.secretKeys);
  const outbound = createOutbound(parseAllowList(config.outboundAllow));
  const parts: ConnectorParts = { db, mis, seal, outbound, dataDir: config.dataDir };
  const beforeCommit = (really: Begin): Begin => (work) => really(async (tx) => (await work(tx), die()));
  const afterCommit = (really: Begin): Begin => (work) => really(work).then(die);
  // A writeback's transactions: the first takes its turn, the second says what became of it.
  const ends: Record<string, (really: Begin) => Begin>[] = [
    { turning: beforeCommit, turned: afterCommit },
    { answered: () => die, finishing: beforeCommit, finished: afterCommit },
  ];
  let begun = 0;
  const lost: ConnectorParts = {
    ...parts,
    mis: told.step === 'writing' ? withBegin(mis, beforeCommit) : mis,
    db: withBegin(db, (really) => (ends[begun++]?.[told.step] ?? ((same) => same))(really)),
  };
  const [whole, losing] = [createWriteback(parts), createWriteback(lost)];
  const handler: Handler = {
    longestSeconds: 1,
    run: (work) => (work.estab !== told.estab || told.step === 'never' ? whole.run(work) : told.step === 'claimed' ? die() : losing.run(work)),
  };
  const say = (details: object, message: string) => void writeSync(1, `${message} ${String((details as { err?: unknown }).err)}\n`);
  // A shorter lease than that of the service, so that what a worker left is found within the time of a test.
  const delivery = { ...createDelivery(db, seal, outbound, 'test'), longestSeconds: 1 };
  await startWorker({ db, handlers: { [writebackKind]: handler, [callKind]: delivery }, log: { warn: say, error: say }, pollMs: 100 });
}

if (import.meta.main) await run();
