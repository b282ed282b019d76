// In charge of what is due again and again: records that were deleted long ago are purged, old counts forgotten.
// Any process may do it at any time; what has been done already is found done.
import { setTimeout as pause } from 'node:timers/promises';
import { forgetOldCounts } from './access/wrong-tries.ts';
import { endFailingLanes } from './outbox/lane-end.ts';
import { purgeRosters } from './collection/purge.ts';
import type { Config } from './config.ts';
import type { Db } from './db/connect.ts';

const everyMs = 60 * 60_000;
const longestEndMs = 5_000;

type Log = { warn(details: object, message: string): void; info(details: object, message: string): void; error(details: object, message: string): void };

export function startHousekeeping(db: Db, config: Config, log: Log): { stop(): Promise<void> } {
  let running: Promise<void> | undefined;
  const run = async () => {
    try {
      await forgetOldCounts(db);
      for (const { key, failingSince, ended } of await endFailingLanes(db)) {
        log.warn({ lane: key, failingSince }, ended ? 'disabled: five days of nothing but failures' : 'will be disabled in a day: four days of nothing but failures');
      }
      await db`delete from import_run where finished_at < now() - make_interval(days => ${config.purgeAfterDays})`;
      const purged = await purgeRosters(db, config.purgeAfterDays);
      if (purged > 0) log.info({ purged }, 'purged records that were deleted long ago');
    } catch (error) {
      log.error({ err: error }, 'housekeeping failed; it will be tried again');
    }
  };
  const start = () => {
    running ??= run().finally(() => (running = undefined));
  };
  start();
  const timer = setInterval(start, everyMs);
  return {
    async stop() {
      clearInterval(timer);
      // It goes on at the next start; a database that does not answer must not hold up the end.
      await Promise.race([running, pause(longestEndMs, undefined, { ref: false })]);
    },
  };
}
