// In charge of matching callbacks with those who wait for them, in this process. What it gives is handed to a webhook handler.
import type { DbStatus } from './envelope.ts';
import { SchoolbellError } from './errors.ts';

export type CallbackEvent = { type: string; params?: Readonly<Record<string, string>>; status?: unknown };

export type Callbacks = {
  expect(): { url: string; arrived: Promise<DbStatus>; forget(): void };
  /** Hands an event to whoever waits for it: the `on` of a handler. False if nobody in this process does. */
  take(event: CallbackEvent): boolean;
};

const parameter = 'schoolbell-wait';

/** url: of the handler that hands its events to `take`. */
export function createCallbacks({ url }: { url: string }): Callbacks {
  const waits = new Map<string, (status: DbStatus) => void>();
  if (url.includes('#')) throw new SchoolbellError('The url of callbacks must have no fragment.', { code: 'invalid_request' });
  return {
    expect() {
      const key = crypto.randomUUID();
      const arrived = new Promise<DbStatus>((resolve) => waits.set(key, resolve));
      return { url: `${url}${url.includes('?') ? '&' : '?'}${parameter}=${key}`, arrived, forget: () => void waits.delete(key) };
    },
    take({ type, params, status }) {
      const resolve = type === 'availability' ? waits.get(params?.[parameter] ?? '') : undefined;
      resolve?.(status as DbStatus);
      return resolve !== undefined;
    },
  };
}
