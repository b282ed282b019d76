// In charge of calls with a credential: each carries its token, and one that is refused for it is made once more with a new one.
import { call, readJson, requireFine, type Answer, type Call, type Settings } from './call.ts';
import { SchoolbellError } from './errors.ts';
import { createTokenSource, type Token } from './tokens.ts';

/** @internal How an API takes a credential. */
export type Access = {
  scheme: 'Bearer' | 'Idaas';
  /** Statuses that may mean that the token is not taken. */
  refusals: readonly number[];
  busy?: readonly number[];
  obtain(settings: Settings, signal: AbortSignal): Promise<Token>;
};

/** @internal */
export type Session = {
  settings: Settings;
  /** Throws unless the answer is fine. */
  send(given: Call): Promise<Answer>;
  json<T>(given: Call): Promise<T>;
  /** Undefined where the service says that there is none; a 404 of something in between is an error. */
  find<T>(given: Call): Promise<T | undefined>;
};

/** @internal */
export function createSession(settings: Settings, access: Access): Session {
  const tokens = createTokenSource((signal) => access.obtain(settings, signal), settings.now);

  async function send(given: Call): Promise<Answer> {
    const make = (token: string) =>
      call(settings, { busy: access.busy ?? [], ...given, headers: { ...given.headers, authorization: `${access.scheme} ${token}` } });
    const token = await tokens.get(given.signal);
    const answer = await make(token);
    // Who is busy has not looked at the token, and was waited for long enough.
    if (!access.refusals.includes(answer.status) || answer.headers.has('retry-after')) return requireFine(answer, given, settings.now());
    return requireFine(await make(await tokens.renew(token, given.signal)), given, settings.now());
  }

  const json = async <T>(given: Call) => readJson<T>(await send(given), `${given.method ?? 'GET'} ${given.path}`);

  return {
    settings,
    send,
    json,
    find: <T>(given: Call) =>
      json<T>(given).catch((error: unknown) => {
        if (error instanceof SchoolbellError && error.code === 'not_found') return undefined;
        throw error;
      }),
  };
}

const seconds = (text: unknown) => (typeof text === 'number' && text > 0 ? text : 0) * 1000;

/** @internal A rostering token, for an id and a secret. busy: the statuses that mean, with a Retry-After, that the service is busy. */
export function rosteringAccess(tokenPath: string, id: string, secret: string, busy: readonly number[]): Access['obtain'] {
  const authorization = `Basic ${encodeBase64(`${id}:${secret}`)}`;
  return async (settings, signal) => {
    const asked: Call = { method: 'POST', path: tokenPath, headers: { authorization }, repeatable: true, busy, signal };
    const answer = requireFine(await call(settings, asked), asked, settings.now());
    const body = readJson<{ access_token: string; expires_in: number }>(answer, `POST ${tokenPath}`);
    return { value: body.access_token, lifetimeMs: seconds(body.expires_in) };
  };
}

const getTokenPath = '/api/oauth/GetToken';

/** @internal The token of a school, or without `estab` that of the application itself. */
export function schoolAccess(given: { rp: string; estab?: string; secret: string }): Access {
  return {
    scheme: 'Idaas',
    refusals: [401],
    async obtain(settings, signal) {
      const body = { relyingParty: given.rp, password: given.secret, ...(given.estab === undefined ? {} : { estab: given.estab }) };
      const asked: Call = { method: 'POST', path: getTokenPath, body, repeatable: true, signal };
      const answer = requireFine(await call(settings, asked), asked, settings.now());
      const { token, expires } = readJson<{ token: string; expires: string }>(answer, `POST ${getTokenPath}`);
      // By the clock of the service, which gave the time.
      const sent = Date.parse(answer.headers.get('date') ?? '');
      return { value: token, lifetimeMs: Math.max(0, Date.parse(expires) - (Number.isNaN(sent) ? settings.now() : sent)) };
    },
  };
}

function encodeBase64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
