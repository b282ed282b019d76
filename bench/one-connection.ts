// In charge of how long one answer takes: asked for over one connection by another process, one after the other.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Door } from './bench.ts';

/** With several tokens, each request is made with any of them. */
export type Asker = Pick<Door, 'url'> & ({ token: string } | { tokens: readonly string[] });
export type Ask = { url: string; tokens: readonly string[]; path: string; times: number };

export type OneConnection = {
  /** Milliseconds of each answer, the shortest first. */
  ask(asker: Asker, path: string, times: number): Promise<number[]>;
  close(): void;
};

export function openConnection(): OneConnection {
  const child = fork(join(import.meta.dirname, 'ask.ts'));
  const failed = once(child, 'exit').then(() => {
    throw new Error('whoever asked has ended');
  });
  failed.catch(() => {});
  return {
    async ask({ url, ...as }, path, times) {
      const answered = once(child, 'message');
      child.send({ url, tokens: 'tokens' in as ? as.tokens : [as.token], path, times } satisfies Ask);
      const [taken] = (await Promise.race([answered, failed])) as [number[]];
      return taken.toSorted((a, b) => a - b);
    },
    close: () => child.disconnect(),
  };
}

export const middle = (sorted: readonly number[]): number => sorted[Math.floor(sorted.length / 2)] ?? 0;
export const p99 = (sorted: readonly number[]): number => sorted[Math.floor(sorted.length * 0.99)] ?? 0;
