// In charge of the threads that hash passwords: few, so that signing, compression and the rest go on beside them, with a
// bounded queue, and one thread kept for callers who are known, so that a flood of strangers does not hold those up.
import { Worker } from 'node:worker_threads';
import { SchoolbellError } from '../errors.ts';
import { noAnswerInTime } from '../http/error-shape.ts';
import type { HashTask } from './hash-thread.ts';

export type Derive = (task: HashTask) => Promise<Uint8Array>;
/** Runs once a thread is free, and has it to itself; where too many wait it is refused as too_many_requests. */
export type Turns = <T>(run: (derive: Derive) => Promise<T>) => Promise<T>;
export type HashPool = {
  /** For strangers. */
  anyone: Turns;
  /** For callers with a credential and people who are signed in: these may use every thread, and one is theirs alone. */
  known: Turns;
  /** However long anybody waits for a turn and has it. */
  longestMs: number;
  close(): Promise<void>;
};

export type HashLimits = {
  /** Beside the one that is kept. */
  threads: number;
  /** In each of the two queues. At 30 ms a hash, the last of them waits four seconds for one thread. */
  mostWaiting?: number;
  longestWaitMs?: number;
  /** What has not ended by then is given up, and its thread replaced. */
  longestTurnMs?: number;
};

type Thread = { kept: boolean; free: boolean; worker: Worker | undefined };
type Waiting = { take(thread: Thread): void; refuse(error: Error): void };

const retryAfterSeconds = 5;

export function createHashPool({ threads, mostWaiting = 128, longestWaitMs = 20_000, longestTurnMs = 10_000 }: HashLimits): HashPool {
  const all: readonly Thread[] = Array.from({ length: threads + 1 }, (_, at) => ({ kept: at === 0, free: true, worker: undefined }));
  const waiting: Record<'anyone' | 'known', Waiting[]> = { anyone: [], known: [] };
  let closed = false;

  async function take(who: 'anyone' | 'known'): Promise<Thread> {
    if (closed) throw new Error('the threads that hash have ended');
    const free = all.find((thread) => thread.free && (who === 'known' || !thread.kept));
    if (free) {
      free.free = false;
      return free;
    }
    const queue = waiting[who];
    if (queue.length >= mostWaiting) throw busy();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        queue.splice(queue.indexOf(one), 1);
        reject(busy());
      }, longestWaitMs);
      const one: Waiting = {
        take: (thread) => {
          clearTimeout(timer);
          resolve(thread);
        },
        refuse: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      };
      queue.push(one);
    });
  }

  function giveBack(thread: Thread): void {
    const next = thread.kept ? waiting.known.shift() : (waiting.anyone.shift() ?? waiting.known.shift());
    if (next) next.take(thread);
    else thread.free = true;
  }

  function createTurns(who: 'anyone' | 'known'): Turns {
    return async (run) => {
      const thread = await take(who);
      try {
        return await within(longestTurnMs, thread, run);
      } finally {
        giveBack(thread);
      }
    };
  }

  return {
    anyone: createTurns('anyone'),
    known: createTurns('known'),
    longestMs: longestWaitMs + longestTurnMs,
    async close() {
      closed = true;
      for (const one of [...waiting.anyone.splice(0), ...waiting.known.splice(0)]) one.refuse(new Error('the threads that hash have ended'));
      await Promise.all(all.map(end));
    },
  };
}

function busy(): SchoolbellError {
  return new SchoolbellError('too_many_requests', 'Too many passwords are being checked at this moment. Wait a few seconds and try again.', {
    headers: { 'retry-after': String(retryAfterSeconds) },
  });
}

/** A turn that was given up can derive nothing more: its thread may be somebody else's by then. */
async function within<T>(milliseconds: number, thread: Thread, run: (derive: Derive) => Promise<T>): Promise<T> {
  let over = false;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      void end(thread);
      reject(noAnswerInTime(new Error(`hashing did not end within ${milliseconds / 1000} s`)));
    }, milliseconds);
  });
  try {
    return await Promise.race([run((task) => (over ? Promise.reject(new Error('this turn at hashing is over')) : hashOn(thread, task))), late]);
  } finally {
    over = true;
    clearTimeout(timer);
  }
}

/** Only a thread that is at work keeps the process from ending. */
async function hashOn(thread: Thread, task: HashTask): Promise<Uint8Array> {
  const worker = (thread.worker ??= start(thread));
  worker.ref();
  try {
    return await new Promise<Uint8Array>((resolve, reject) => {
      const settle = (act: () => void) => {
        worker.off('message', onMessage).off('error', onError).off('exit', onExit);
        act();
      };
      const onMessage = (tag: Uint8Array) => settle(() => resolve(tag));
      const onError = (error: unknown) => settle(() => reject(error as Error));
      const onExit = () => settle(() => reject(new Error('the thread that hashed has ended')));
      worker.on('message', onMessage).on('error', onError).on('exit', onExit);
      worker.postMessage(task);
    });
  } finally {
    worker.unref();
  }
}

/** Started when it is first needed, and again after it has ended. It needs none of the process's environment. */
function start(thread: Thread): Worker {
  const worker = new Worker(new URL('./hash-thread.ts', import.meta.url), { env: {}, execArgv: [] });
  const forget = () => {
    if (thread.worker === worker) thread.worker = undefined;
  };
  worker.on('error', forget).on('exit', forget);
  return worker;
}

async function end(thread: Thread): Promise<void> {
  const { worker } = thread;
  thread.worker = undefined;
  await worker?.terminate();
}
