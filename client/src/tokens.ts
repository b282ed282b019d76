// In charge of the token of one credential: obtained once for all who ask at the same time, and used until shortly before it ends.

/** @internal */
export type Token = { value: string; lifetimeMs: number };

/** @internal */
export type TokenSource = {
  get(signal?: AbortSignal): Promise<string>;
  /** Another than this one, which was refused. */
  renew(refused: string, signal?: AbortSignal): Promise<string>;
};

type Coming = { token: Promise<string>; end: AbortController; waiting: number };

/** Before its end, so that none ends on the way: a minute, of short ones a tenth. */
const marginMs = 60_000;

/** @internal */
export function createTokenSource(obtain: (signal: AbortSignal) => Promise<Token>, now: () => number): TokenSource {
  let held: { value: string; until: number } | undefined;
  let coming: Coming | undefined;

  function fetchToken(): Coming {
    const asked = now();
    const end = new AbortController();
    const token = obtain(end.signal).then(({ value, lifetimeMs }) => {
      held = { value, until: asked + lifetimeMs - Math.min(marginMs, lifetimeMs / 10) };
      return value;
    });
    const fetched: Coming = { token: token.finally(() => forget(fetched)), end, waiting: 0 };
    return fetched;
  }

  function forget(one: Coming): void {
    if (coming === one) coming = undefined;
  }

  async function get(signal?: AbortSignal): Promise<string> {
    signal?.throwIfAborted();
    if (held && now() < held.until) return held.value;
    const joined = (coming ??= fetchToken());
    joined.waiting += 1;
    try {
      return await orAbort(joined.token, signal);
    } finally {
      joined.waiting -= 1;
      if (joined.waiting === 0) {
        // The last who waited has left: what nobody waits for must not keep a process alive.
        forget(joined);
        joined.end.abort();
      }
    }
  }

  return {
    get,
    renew(refused, signal) {
      if (held?.value === refused) held = undefined;
      return get(signal);
    },
  };
}

/** Who leaves does not end it for the others. */
function orAbort<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason as Error);
    signal.addEventListener('abort', leave, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
