// In charge of asking the service what its documents describe: a request is made of the examples of the parameters and of the
// credential that the operation names, and sent to the demo.
import type { FastifyInstance } from 'fastify';
import { makeUploadToken } from '../src/access/upload-tokens.ts';
import type { Db } from '../src/db/connect.ts';
import type { DemoCredentials } from '../src/demo.ts';
import type { Described } from '../src/reference/document.ts';
import { askApp } from './ask-app.ts';
import { isJson } from './described.ts';

export type Asking = Readonly<{ app: FastifyInstance; db: Db; demo: DemoCredentials; tokens: Map<string, Promise<string>> }>;

/** In place of what the document says: parameters by name, the body, the whole Authorization header; and headers besides. */
export type Ask = Readonly<{
  parameters?: Readonly<Record<string, string>>;
  body?: unknown;
  contentType?: string;
  authorization?: string;
  headers?: Readonly<Record<string, string>>;
}>;

export type Answered = Readonly<{ status: number; contentType: string; headers: Readonly<Record<string, unknown>>; body: unknown }>;

export const createAsking = (app: FastifyInstance, db: Db, demo: DemoCredentials): Asking => ({ app, db, demo, tokens: new Map() });

/** Optional parameters that keep an answer short. */
const shortening = ['limit', 'pageSize', 'PageSize'];

export async function askDescribed(asking: Asking, described: Described, ask: Ask = {}): Promise<Answered> {
  const { path, verb, operation } = described;
  let url = path;
  const query = new URLSearchParams();
  const headers: Record<string, string> = { ...ask.headers };
  for (const { name, in: place, required, example } of operation.parameters ?? []) {
    const value = ask.parameters?.[name] ?? (required || shortening.includes(name) ? example : undefined);
    if (value === undefined) continue;
    if (place === 'path') url = url.replace(`{${name}}`, encodeURIComponent(String(value)));
    if (place === 'query') query.set(name, String(value));
    if (place === 'header') headers[name] = String(value);
  }
  const [scheme] = Object.keys(operation.security?.[0] ?? {});
  const authorization = ask.authorization ?? (scheme === undefined ? undefined : await authorise(asking, scheme));
  if (authorization !== undefined && authorization !== '') headers.authorization = authorization;
  const [media] = Object.entries(operation.requestBody?.content ?? {});
  const [contentType, body] = [ask.contentType ?? media?.[0], ask.body ?? (operation.requestBody?.required ? media?.[1].example : undefined)];
  const sent = body === undefined ? {} : { payload: encode(contentType ?? '', body) };
  if (body !== undefined && contentType !== undefined) headers['content-type'] = contentType;
  const response = await askApp(asking.app, { method: verb.toUpperCase(), url: query.size > 0 ? `${url}?${query}` : url, headers, ...sent });
  const answeredAs = String(response.headers['content-type'] ?? '').split(';', 1)[0] ?? '';
  const answered = isJson(answeredAs) ? (JSON.parse(response.body) as unknown) : response.body;
  return { status: response.statusCode, contentType: answeredAs, headers: response.headers, body: answered };
}

function encode(contentType: string, body: unknown): string | Buffer {
  if (typeof body === 'string' || Buffer.isBuffer(body)) return body;
  if (contentType === 'application/x-www-form-urlencoded') return String(new URLSearchParams(body as Record<string, string>));
  return JSON.stringify(body);
}

const basic = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

/** The Authorization header for one of the documents' security schemes, as the demo's application. */
export async function authorise(asking: Asking, scheme: string): Promise<string> {
  const { app, db, demo, tokens } = asking;
  const once = (make: () => Promise<string>) => {
    const token = tokens.get(scheme) ?? make();
    tokens.set(scheme, token);
    return token;
  };
  const exchange = async (url: string, authorization: string) =>
    (await askApp(app, { method: 'POST', url, headers: { authorization } })).json<{ access_token: string }>().access_token;
  const sts = async (payload: object) => (await askApp(app, { method: 'POST', url: '/api/oauth/GetToken', payload })).json<{ token: string }>().token;
  const ofSchool = { relyingParty: demo.rp, estab: demo.estab, password: demo.schoolSecret };
  switch (scheme) {
    case 'variantAClient':
      return basic(demo.clientId, demo.clientSecret);
    case 'variantBClient':
    case 'schoolSecret':
      return basic(`${demo.rp}|${demo.estab}`, demo.schoolSecret);
    case 'managementSecret':
      return basic(demo.rp, demo.managementSecret);
    case 'variantAToken':
      return `Bearer ${await once(async () => exchange('/api/ims/oneroster/v1p1/token', await authorise(asking, 'variantAClient')))}`;
    case 'variantBToken':
      return `Bearer ${await once(async () => exchange('/ims/oneroster/v1p1/auth/token', await authorise(asking, 'variantBClient')))}`;
    case 'oneRoster12Token':
      return `Bearer ${await once(async () => exchange('/ims/oneroster/rostering/v1p2/token', await authorise(asking, 'variantBClient')))}`;
    case 'schoolToken':
      return `Idaas ${await once(() => sts(ofSchool))}`;
    case 'managementToken':
      return `Idaas ${await once(() => sts({ relyingParty: demo.rp, password: demo.managementSecret }))}`;
    case 'uploadToken':
      return `Bearer ${await once(() => makeUploadToken(db, demo.estab, 'operator'))}`;
    default:
      throw new Error(`who presents ${scheme}?`);
  }
}
