// In charge of how many whole lists one application reads at once, so that none keeps the others waiting: more of its
// own wait for their turn.
import { SchoolbellError } from '../errors.ts';

/** Waits for a turn and gives the way out, which may be taken twice. */
export type Turnstile = (who: string) => Promise<() => void>;

export function createTurnstile(atOnce: number, longestWaitMs: number): Turnstile {
  const inside = new Map<string, number>();
  const waiting = new Map<string, (() => void)[]>();

  function leave(who: string): void {
    const next = waiting.get(who)?.shift();
    if (next) {
      next();
      return;
    }
    waiting.delete(who);
    const count = (inside.get(who) ?? 1) - 1;
    if (count === 0) inside.delete(who);
    else inside.set(who, count);
  }

  function wait(who: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const queue = waiting.get(who) ?? [];
      waiting.set(who, queue);
      const turn = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        queue.splice(queue.indexOf(turn), 1);
        reject(
          new SchoolbellError(
            'too_many_requests',
            `${atOnce} whole lists are being read by this application already. Wait for one to end, or read in pages with limit.`,
            { headers: { 'retry-after': '30' } },
          ),
        );
      }, longestWaitMs);
      queue.push(turn);
    });
  }

  return async (who) => {
    const count = inside.get(who) ?? 0;
    if (count < atOnce) inside.set(who, count + 1);
    else await wait(who);
    let left = false;
    return () => {
      if (!left) leave(who);
      left = true;
    };
  };
}
