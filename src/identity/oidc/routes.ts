// In charge of the addresses of the OpenID Connect provider and of the sign-in in its midst.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type Provider from 'oidc-provider';
import type { Seal } from '../../access/seal.ts';
import type { Db } from '../../db/connect.ts';
import { pageHeaders } from '../../http/html.ts';
import { parseQuery, type Query } from '../../http/query.ts';
import { tryLogin } from '../logins.ts';
import { giveToken, requireToken, wrong } from '../page-routes.ts';
import { renderSaying, renderSignIn } from '../pages/sign-in.ts';
import { findSignedIn, openSession } from '../sessions.ts';
import { findClient, isWelcome } from './clients.ts';
import { accountId, createPresentProvider } from './provider.ts';

export type SingleSignOn = { db: Db; seal: Seal; publicUrl: string };

const root = '/oidc';
const formBytes = 64 * 1024;

export function oidcRoutes(app: FastifyInstance, { db, seal, publicUrl }: SingleSignOn): void {
  const provider = createPresentProvider(db, seal, publicUrl);
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string', bodyLimit: formBytes }, (_request, body, done) => done(null, parseQuery(body as string)));
    scope.get(`${root}/interaction/:uid`, { schema: { hide: true } }, async (request, reply) => showSignIn({ db, seal, publicUrl }, await provider(), request, reply));
    scope.post(`${root}/interaction/:uid`, { schema: { hide: true } }, async (request, reply) => signIn({ db, seal, publicUrl }, await provider(), request, reply));
    scope.route({ method: ['GET', 'POST', 'OPTIONS'], url: `${root}/*`, schema: { hide: true }, handler: async (request, reply) => pass(await provider(), publicUrl, request, reply) });
  });
}

/** Hands the request over as it would have come in at the address of the issuer. */
async function pass(provider: Provider, publicUrl: string, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const raw = prepare(publicUrl, request);
  const form = request.body ? Object.fromEntries(Object.entries(request.body as Query).map(([name, values]) => [name, values[0] ?? ''])) : undefined;
  if (form) Object.assign(raw, { body: withBasic(form, raw.headers) });
  raw.originalUrl = raw.url;
  raw.url = (raw.url ?? '').slice(root.length) || '/';
  reply.hijack();
  await provider.callback()(raw, reply.raw);
}

type Raw = FastifyRequest['raw'] & { originalUrl?: string | undefined };

function prepare(publicUrl: string, request: FastifyRequest): Raw {
  const { host, protocol } = new URL(publicUrl);
  const { raw } = request;
  raw.headers.host = host;
  raw.headers['x-forwarded-host'] = host;
  raw.headers['x-forwarded-proto'] = protocol.replace(':', '');
  return raw;
}

/** Clients differ in where they put their secret; the provider expects it in the body. */
function withBasic(form: Record<string, string>, headers: Raw['headers']): Record<string, string> {
  const basic = /^basic\s+(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  if (!basic || form.client_secret !== undefined) return form;
  const [id = '', secret = ''] = Buffer.from(basic, 'base64').toString('utf8').split(/:(.*)/s).map(formDecode);
  delete headers.authorization;
  return { ...form, client_id: id, client_secret: secret };
}

function formDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/** Browsers hold a form to its page's form-action through every redirect behind it, and this one ends at the application and wherever that leads on to. */
function headersFor(redirectUri: unknown): Record<string, string> {
  const { origin, protocol } = new URL(String(redirectUri));
  return { ...pageHeaders, 'content-security-policy': (pageHeaders['content-security-policy'] ?? '').replace("form-action 'self'", `form-action 'self' https: ${origin === 'null' ? protocol : origin}`) };
}

async function showSignIn({ db, publicUrl }: SingleSignOn, provider: Provider, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | void> {
  const { params, prompt } = await provider.interactionDetails(prepare(publicUrl, request), reply.raw);
  const who = await findSignedIn(db, request.headers.cookie);
  if (who && !who.mustChange && prompt.reasons.every((reason) => reason === 'no_session' || reason === 'consent_prompt')) return finish(provider, db, request, reply, String(params.client_id), who.estab, who.presence.id);
  const client = await findClient(db, String(params.client_id));
  return reply.headers(headersFor(params.redirect_uri)).send(renderSignIn({ token: giveToken(request, reply, publicUrl), path: request.url.split('?', 1)[0] ?? '', estab: '', userName: String(params.login_hint ?? ''), to: client?.client_name }));
}

async function signIn({ db, publicUrl }: SingleSignOn, provider: Provider, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | void> {
  requireToken(request);
  const { params } = await provider.interactionDetails(prepare(publicUrl, request), reply.raw);
  const form = (request.body ?? {}) as Query;
  const [estab, userName] = [form.estab?.[0]?.trim() ?? '', form.username?.[0]?.trim() ?? ''];
  const tried = await tryLogin(db, estab, userName, form.password?.[0] ?? '');
  if (tried.kind !== 'right') {
    return reply.code(401).headers(headersFor(params.redirect_uri)).send(renderSignIn({ token: giveToken(request, reply, publicUrl), path: request.url.split('?', 1)[0] ?? '', estab, userName, problem: wrong }));
  }
  const cookie = await openSession(db, estab, tried.presence.id, publicUrl);
  if (tried.mustChange) return reply.header('set-cookie', cookie).headers(pageHeaders).send(renderSaying('One thing first', 'Choose a password of your own, then go back to the application and sign in again.', { path: '/account/password', label: 'Choose a password' }));
  return finish(provider, db, request, reply.header('set-cookie', cookie), String(params.client_id), estab, tried.presence.id);
}

async function finish(provider: Provider, db: Db, request: FastifyRequest, reply: FastifyReply, clientId: string, estab: string, presenceId: string): Promise<void> {
  const welcome = await isWelcome(db, clientId, estab);
  const result = welcome ? { login: { accountId: accountId(estab, presenceId) }, consent: {} } : { error: 'access_denied', error_description: 'the school does not authorise this application to have its people sign in' };
  const cookies = reply.getHeader('set-cookie');
  reply.hijack();
  if (cookies) reply.raw.setHeader('set-cookie', cookies);
  await provider.interactionFinished(request.raw, reply.raw, result, { mergeWithLastSubmission: false });
}
