// In charge of the token of one credential: obtained once for all who ask at the same time, and used until shortly before it ends.

/** @internal */
export type Token = { value: string; lifetimeMs: number };

/** @internal */
export type TokenSource = {
  get(signal?: AbortSignal): Promise<string>;
  /** Another than this one, which was refused. */
  renew(refused: string, signal?: AbortSignal): Promise<string>;
};

/** Before its end, so that none ends on the way: a minute, of short ones a tenth. */
const marginMs = 60_000;

/** @internal */
export function createTokenSource(obtain: () => Promise<Token>, now: () => number): TokenSource {
  let held: { value: string; until: number } | undefined;
  let coming: Promise<string> | undefined;

  async function fetchToken(): Promise<string> {
    const asked = now();
    const { value, lifetimeMs } = await obtain();
    held = { value, until: asked + lifetimeMs - Math.min(marginMs, lifetimeMs / 10) };
    return value;
  }

  const get = (signal?: AbortSignal): Promise<string> => {
    if (held && now() < held.until) return Promise.resolve(held.value);
    coming ??= fetchToken().finally(() => (coming = undefined));
    return orAbort(coming, signal);
  };

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
    if (signal.aborted) return leave();
    signal.addEventListener('abort', leave, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
