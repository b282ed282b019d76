// In charge of what is due again and again: each chore with how often, in every process or once for all of them. Any
// process may do it at any time; what has been done already is found done.
import { setTimeout as pause } from 'node:timers/promises';
import { createPseudonym } from './access/pseudonym.ts';
import { readSecretKeys, type Seal } from './access/seal.ts';
import { limitTokenKeys } from './access/token-keys.ts';
import { backupCore } from './backup/core.ts';
import { keepBackupPlan } from './backup/run-plan.ts';
import { requestDue } from './collection/component-databases.ts';
import { createFolderWatch } from './collection/watch-folders.ts';
import type { Config } from './config.ts';
import type { Db } from './db/connect.ts';
import { limitProviderKeys } from './identity/oidc/keys.ts';
import { tellFailingTargets } from './mail/failing-targets.ts';
import { eraseDelivered } from './notifications/erase-secrets.ts';
import { completeInstallations } from './onboarding/installation.ts';
import { expireInvitations } from './onboarding/invitations.ts';
import { tellingOf, tellTroubles } from './onboarding/tell-troubles.ts';
import { createNoting, inTurn, type Chore } from './outbox/chores.ts';
import { armForgottenLanes } from './outbox/claim.ts';
import { countDeliveryHours } from './outbox/delivery-hours.ts';
import { warnFailingLanes } from './outbox/lane-end.ts';
import { createWaitLimit } from './outbox/limit-waits.ts';
import { tallyOutbox } from './outbox/tally.ts';
import { backOffAfter, createTroubleLog, type TroubleLog } from './db/trouble-log.ts';
import { createForgetPeople, forgetFiles, forgetInOnePlace } from './forget.ts';
import { sweepWaits } from './schooldata/availability.ts';
import { visitSchools } from './visit-schools.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const longestEndMs = 5_000;

type Log = { warn(details: object, message: string): void; info(details: object, message: string): void; error(details: object, message: string): void };

/** backups: connections of their own, since one may take hours. */
export type HousekeepingParts = { db: Db; backups: Db; seal: Seal; config: Config; log: Log; now: () => number };

export function startHousekeeping({ db, backups, seal, config, log, now }: HousekeepingParts): { stop(): Promise<void> } {
  const ending = new AbortController();
  const backing = { db, long: backups, config, seal, core: backupCore, signal: ending.signal };
  const chores: readonly Chore[] = [
    { name: 'ending waits for data', everyMs: second, run: () => sweepWaits(db) },
    { name: 'telling applications that data is there', everyMs: 5 * second, run: () => completeInstallations(db, seal) },
    { name: 'telling of held and failing collections', everyMs: minute, run: () => tellTroubles(db, tellingOf(config)) },
    { name: 'erasing secrets that have arrived', everyMs: minute, once: true, run: () => eraseDelivered(db) },
    { name: 'expiring invitations', everyMs: minute, run: () => expireInvitations(db) },
    { name: 'watching folders', everyMs: 5 * second, run: createFolderWatch(db) },
    { name: 'refreshing data', everyMs: 15 * second, run: () => db.begin((tx) => requestDue(tx)) },
    { name: 'limiting waits after a clock was set back', everyMs: 5 * second, run: createWaitLimit(db) },
    { name: 'limiting the trust in keys after a clock was set back', everyMs: minute, run: () => Promise.all([limitTokenKeys(db), limitProviderKeys(db)]) },
    { name: 'freeing lanes', everyMs: minute, run: () => armForgottenLanes(db) },
    { name: 'counting deliveries', everyMs: 5 * minute, once: true, run: () => tallyOutbox(db) },
    { name: 'counting deliveries by the hour', everyMs: minute, once: true, run: () => countDeliveryHours(db) },
    { name: 'warning of failing receivers', everyMs: hour, once: true, run: () => warn(db, log) },
    { name: 'writing to those whose targets fail', everyMs: minute, once: true, run: () => tellFailingTargets(db, config.publicUrl) },
    { name: 'forgetting', everyMs: hour, once: true, run: () => forgetInOnePlace(db, config) },
    { name: 'forgetting files', everyMs: hour, run: () => forgetFiles(db, config) },
    { name: 'backing up', everyMs: minute, run: () => keepBackupPlan(backing, new Date(now())) },
    { name: 'purging', everyMs: hour, once: true, run: () => purge(db, config, log, new Date(now())) },
  ];
  const whose = (chore: Chore) => (chore.once ? { ...chore, everyMs: minute, run: () => inTurn(db, chore) } : { ...chore, run: createNoting(db, chore) });
  const troubles = createTroubleLog(log);
  const started = chores.map((chore) => start(whose(chore), troubles));
  return {
    async stop() {
      ending.abort();
      for (const { timer } of started) clearInterval(timer);
      // It goes on at the next start; a database that does not answer must not hold up the end.
      await Promise.race([Promise.all(started.map(({ running }) => running())), pause(longestEndMs, undefined, { ref: false })]);
    },
  };
}

/** Never twice at once in one process. */
function start({ name, everyMs, run }: Chore, troubles: TroubleLog): { timer: NodeJS.Timeout; running: () => Promise<unknown> | undefined } {
  const what = `${name} failed`;
  let running: Promise<unknown> | undefined;
  let [failures, restUntil] = [0, -Infinity];
  async function attempt(): Promise<void> {
    try {
      await run();
      failures = 0;
      troubles.worked(what);
    } catch (error) {
      failures += 1;
      restUntil = performance.now() + backOffAfter(error, failures, 0);
      troubles.failed(what, error, { chore: name });
    }
  }
  const once = () => {
    if (performance.now() >= restUntil) running ??= attempt().finally(() => (running = undefined));
  };
  once();
  return { timer: setInterval(once, everyMs), running: () => running };
}

async function warn(db: Db, log: Log): Promise<void> {
  for (const { key, failingSince } of await warnFailingLanes(db))
    log.warn({ lane: key, failingSince }, 'will be disabled in a day: four days of nothing but failures');
}

/** With all else that lies with the schools. */
async function purge(db: Db, config: Config, log: Log, at: Date): Promise<void> {
  const purged = await visitSchools(db, config, createForgetPeople(createPseudonym(readSecretKeys(config))), at);
  if (purged > 0) log.info({ purged }, 'purged records that were deleted long ago');
}
