// In charge of waiting in tests: as long as it takes, and no longer than three minutes.
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';

/** Long enough for the slowest machine: only what never comes is waited for that long. */
const longestWaitSeconds = 180;

type Holds = () => boolean | Promise<boolean>;

export async function until(what: string, holds: Holds, describe: () => unknown = () => '', seconds = longestWaitSeconds): Promise<void> {
  const end = Date.now() + seconds * 1000;
  for (; !(await holds()); await pause(10)) if (Date.now() > end) assert.fail(`not within ${seconds} s: ${what} ${JSON.stringify(await describe())}`);
}
