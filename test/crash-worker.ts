// In charge of a worker process that tests can lose: it delivers like any other, and at the step of its n-th piece of
// work that it is told it kills itself, or stands still.
import { subscribe } from 'node:diagnostics_channel';
import { writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createSeal } from '../src/access/seal.ts';
import { readConfig } from '../src/config.ts';
import { connect } from '../src/db/connect.ts';
import { policies } from '../src/db/policies.ts';
import { parseAllowList } from '../src/http/address-guard.ts';
import { createOutbound } from '../src/http/outbound.ts';
import { startWorker, type Handler } from '../src/outbox/worker.ts';
import { announceChange } from '../src/notifications/announce.ts';
import { callKind } from '../src/notifications/webhooks.ts';
import { createDelivery } from '../src/notifications/deliver.ts';

const text = { type: 'string' } as const;
const { values: told } = parseArgs({
  options: { step: { ...text, default: 'never' }, nth: { ...text, default: '1' }, name: { ...text, default: 'crash worker' }, estab: { ...text, default: '' } },
});
const { step } = told;
const nth = Number(told.nth);
const config = readConfig();
const longestSeconds = 1;
const db = connect(config.databaseUrls?.[0] ?? '', { ...policies.outbox, connectionMs: 60_000, name: told.name });
const delivery = createDelivery(db, createSeal(config.secretKeys), createOutbound(parseAllowList(config.outboundAllow)), 'test');
const say = (line: string) => void writeSync(1, `${line}\n`);

async function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
}

/** Goes on when somebody else says so. */
function standStill(): void {
  say('still');
  process.kill(process.pid, 'SIGSTOP');
}

if (step === 'still in a claim') {
  let stood = false;
  subscribe('schoolbell:statement', (message) => {
    if (stood || !(message as { text: string }).text.includes('full_host')) return;
    stood = true;
    standStill();
  });
}

let taken = 0;
const handler: Handler = {
  longestSeconds,
  async run(work, isHeld) {
    taken += 1;
    say(`claim ${work.claim}`);
    if (step === 'still with work' && taken === nth) standStill();
    if (!['claimed', 'calling', 'answered'].includes(step) || taken !== nth) return delivery.run(work, isHeld);
    if (step === 'claimed') return die();
    const call = delivery.run(work, isHeld);
    if (step === 'calling') await pause(10);
    else await call;
    return die();
  },
};

if (step === 'before commit' || step === 'after commit') {
  await db.begin(async (tx) => {
    await announceChange(tx, told.estab, 'SchoolData');
    if (step === 'before commit') await die();
  });
  await die();
}
const lines = (level: string) => (details: object, message: string) => say(`${level} ${message} ${String((details as { err?: unknown }).err)}`);
await startWorker({ db, handlers: { [callKind]: handler }, log: { warn: lines('warn'), error: lines('error') }, pollMs: 100 });
say('ready');
