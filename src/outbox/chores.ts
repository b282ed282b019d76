// In charge of what is known about chores, which are due again and again: which process did each last, how long it took and what
// was in its way. One that is done once for all processes is found done here by the others.
import type { Db } from '../db/connect.ts';
import { processTag } from '../db/pool.ts';

/** once: for all processes together, not in each. */
export type Chore = { name: string; everyMs: number; once?: true; run(): Promise<unknown> };

/** tookMs: null while it is under way for the first time, or its process was cut off. */
export type ChoreRun = Readonly<{
  name: string;
  last: Date;
  everyMs: number | null;
  tookMs: number | null;
  trouble: string | null;
  by: string | null;
  next: Date | null;
}>;

const second = 1_000;
const tryAgainMs = 300 * second;
/** Whoever looks every minute would otherwise find, every other time, that a moment is missing. */
const earlyMs = 2 * second;
const longestTrouble = 500;
/** What is done every second is written down once a minute. */
export const notedEveryMs = 60 * second;

/**
 * Does it unless some process began it less than its time ago, by the database's clock. One that died in the midst of it
 * keeps nobody from doing it the next time; one that failed, from trying again soon. A last run in the future was before the clock was set back.
 */
export async function inTurn(db: Db, { name, everyMs, run }: Chore): Promise<void> {
  const [mine] = await db`
    insert into chore (name, last_at, ran_at, every_ms, by) values (${name}, now(), now(), ${everyMs}, ${processTag})
    on conflict (name) do update set last_at = excluded.last_at, ran_at = excluded.ran_at, every_ms = excluded.every_ms, by = excluded.by, took_ms = null
      where chore.last_at <= now() - make_interval(secs => ${(everyMs - earlyMs) / second})
        or chore.last_at > now() + make_interval(secs => ${earlyMs / second}) returning name`;
  if (!mine) return;
  const begun = performance.now();
  try {
    await run();
  } catch (error) {
    await db`
      update chore set last_at = now() - make_interval(secs => ${Math.max(0, everyMs - tryAgainMs) / second}), took_ms = ${tookSince(begun)},
        trouble = ${troubleOf(error)}
      where name = ${name}`;
    throw error;
  }
  await db`update chore set took_ms = ${tookSince(begun)}, trouble = null where name = ${name}`;
}

/** Of a chore that each process does: how it went, once a minute. That it cannot be written down keeps nobody from doing it. */
export function createNoting(db: Db, { name, everyMs, run }: Chore): () => Promise<void> {
  let noted = -notedEveryMs;
  return async () => {
    const begun = performance.now();
    const trouble = await run().then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    if (trouble || begun - noted >= notedEveryMs) {
      noted = begun;
      await db`
        insert into chore (name, last_at, ran_at, every_ms, took_ms, trouble, by)
        values (${name}, now(), now(), ${everyMs}, ${tookSince(begun)}, ${trouble ? troubleOf(trouble.error) : null}, ${processTag})
        on conflict (name) do update set last_at = excluded.last_at, ran_at = excluded.ran_at, every_ms = excluded.every_ms, took_ms = excluded.took_ms,
          trouble = excluded.trouble, by = excluded.by`.catch(() => {});
    }
    if (trouble) throw trouble.error;
  };
}

export async function listChores(db: Db): Promise<ChoreRun[]> {
  return db<ChoreRun[]>`
    select name, coalesce(ran_at, last_at) as last, every_ms::float8 as "everyMs", took_ms::float8 as "tookMs", trouble, by,
      last_at + every_ms * interval '1 millisecond' as next
    from chore order by name`;
}

const tookSince = (begun: number) => Math.round(performance.now() - begun);
const troubleOf = (error: unknown) => (error as Error).message.slice(0, longestTrouble);
