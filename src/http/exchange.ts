// In charge of one outgoing request and as much of its answer as is read: bounded in time and size. A longer answer ends the
// connection, since what follows on it would be its rest; what came before a fault is kept.
import type { Dispatcher } from 'undici';

export type ExchangeLimits = { totalMs: number; readBytes: number; keptBytes: number };

export class TimedOut extends Error {
  constructor(ms: number) {
    super(`no complete answer within ${ms / 1000} s`);
  }
}

export class TooLarge extends Error {}

const nothing = Buffer.alloc(0);

export class Exchange implements Dispatcher.DispatchHandler {
  status: number | undefined;
  headers: Record<string, string> = {};
  error: Error | undefined;
  firstByteAt: number | undefined;
  readonly #limits: ExchangeLimits;
  readonly #begins: () => void;
  readonly #ended: () => void;
  readonly #timer: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | undefined;
  #isOver = false;
  #chunks: Buffer[] = [];
  #size = 0;

  /** begins: called just before the first byte leaves, in the same turn. ended: called once, whatever happens. */
  constructor(limits: ExchangeLimits, begins: () => void, ended: () => void) {
    this.#limits = limits;
    this.#begins = begins;
    this.#ended = ended;
    this.#timer = setTimeout(() => this.#stop(new TimedOut(limits.totalMs)), limits.totalMs);
  }

  /** As much of the answer as is kept. */
  get response(): Buffer {
    return this.#chunks.length === 0 ? nothing : Buffer.concat(this.#chunks);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // It waited so long for a connection that its time is over: nothing is sent any more.
    if (this.#isOver) {
      controller.abort(this.error ?? new Error('it is over'));
      return;
    }
    this.#controller = controller;
    this.#begins();
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Record<string, string | string[] | undefined>): void {
    if (status < 200) return;
    this.firstByteAt = performance.now();
    this.status = status;
    this.headers = isPlain(headers) ? headers : Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#size < this.#limits.keptBytes) this.#chunks.push(chunk.subarray(0, this.#limits.keptBytes - this.#size));
    this.#size += chunk.length;
    if (this.#size > this.#limits.readBytes) controller.abort(new TooLarge());
  }

  onResponseEnd(): void {
    this.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.end(error);
  }

  end(error?: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.error = error;
    clearTimeout(this.#timer);
    this.#ended();
  }

  /** What has not begun yet has nothing that could be ended. */
  #stop(reason: Error): void {
    if (this.#controller) this.#controller.abort(reason);
    else this.end(reason);
  }
}

function isPlain(headers: Record<string, string | string[] | undefined>): headers is Record<string, string> {
  return Object.values(headers).every((value) => typeof value === 'string');
}
