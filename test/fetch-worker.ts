// A worker process that tests can lose while it fetches a roster: before it sends a statement that contains the given text, it kills itself or stops.
import { subscribe } from 'node:diagnostics_channel';
import { writeSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { createSeal } from '../src/access/seal.ts';
import { createCollecting } from '../src/collection/collect.ts';
import { collectKind } from '../src/collection/component-databases.ts';
import { readConfig } from '../src/config.ts';
import { connect } from '../src/db/connect.ts';
import { policies } from '../src/db/policies.ts';
import { createOutbound } from '../src/http/outbound.ts';
import { parseAllowList } from '../src/http/address-guard.ts';
import { startWorker } from '../src/outbox/worker.ts';

const text = { type: 'string', default: '' } as const;
const { values: told } = parseArgs({ options: { before: text, signal: text } });
const config = readConfig();
let isDone = false;
subscribe('schoolbell:statement', (message) => {
  if (isDone || !(message as { text: string }).text.includes(told.before)) return;
  isDone = true;
  writeSync(1, 'now\n');
  process.kill(process.pid, told.signal as NodeJS.Signals);
});
const url = config.databaseUrls?.[0] ?? '';
const outbox = connect(url, policies.outbox);
// The server would end a transaction in which a stopped process sends nothing, but not one in which it owes the server data.
const collections = connect(url, { ...policies.collections, idleInTransactionMs: 3_600_000 });
const parts = { db: collections, mis: collections, seal: createSeal(config.secretKeys), outbound: createOutbound(parseAllowList([])), dataDir: config.dataDir };
const log = { warn: () => {}, error: () => {} };
await startWorker({ db: outbox, handlers: { [collectKind]: createCollecting(parts, { shrinkLimitPercent: 20 }) }, log, leaseSeconds: 25 });
