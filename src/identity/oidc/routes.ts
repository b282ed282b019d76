// In charge of the addresses of the OpenID Connect provider and of the sign-in in its midst.
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Provider } from 'oidc-provider';
import type { HashPool } from '../../access/hash-pool.ts';
import type { Seal } from '../../access/seal.ts';
import type { Db } from '../../db/connect.ts';
import { SchoolbellError } from '../../errors.ts';
import { asksForPage } from '../../http/accepts-page.ts';
import { longestStatementsMs } from '../../http/deadline.ts';
import { envelopeShape, sendError } from '../../http/error-shape.ts';
import { giveFormToken, requireGivenToken } from '../../http/form-token.ts';
import { acceptForms, readForm } from '../../http/forms.ts';
import { pageHeaders } from '../../http/html.ts';
import { pageErrorShape, usePageErrors } from '../../http/page-error.ts';
import { sendPage } from '../../http/page-reply.ts';
import { renderMessage } from '../../http/pages/message.ts';
import type { Query } from '../../http/query.ts';
import { wrong } from '../page-routes.ts';
import { renderSignIn } from '../pages/sign-in.ts';
import { readRememberedSchool, rememberSchool } from '../remembered-school.ts';
import { findSignedIn, openSession } from '../sessions.ts';
import { tryLogin } from '../try-login.ts';
import { findClient, isWelcome } from './clients.ts';
import { signInOperations } from './describe-sign-in.ts';
import { accountId, createPresentProvider } from './provider.ts';

export type SingleSignOn = { db: Db; tries: Db; hashing: HashPool; seal: Seal; publicUrl: string };

const root = '/oidc';

export function oidcRoutes(app: FastifyInstance, parts: SingleSignOn): void {
  const { db, seal, publicUrl } = parts;
  const provider = createPresentProvider(db, seal, publicUrl);
  app.register(async (scope) => {
    acceptForms(scope);
    usePageErrorsForBrowsers(scope);
    const handler = async (request: FastifyRequest, reply: FastifyReply) => pass(await provider(), publicUrl, request, reply);
    // A request that fails before the provider has it has stored nothing.
    const config = { changesNothing: true } as const;
    for (const { method, path, options } of signInOperations) scope.route({ method, url: `${root}${path}`, config, ...options, handler });
    scope.route({
      method: ['GET', 'POST', 'OPTIONS'],
      url: `${root}/*`,
      config,
      schema: { hide: true },
      handler,
    });
    scope.register(async (pages) => {
      usePageErrors(pages, ({ url }, error) =>
        isGone(error) ? { path: '/login', label: 'To the sign-in page' } : { path: url.split('?', 1)[0] ?? '', label: 'Back to the sign-in' },
      );
      const path = `${root}/interaction/:uid`;
      pages.get(path, { schema: { hide: true } }, async (request, reply) => showSignIn(parts, await provider(), request, reply));
      pages.post(path, { schema: { hide: true }, config: { longestMs: parts.hashing.longestMs + longestStatementsMs } }, async (request, reply) =>
        signIn(parts, await provider(), request, reply),
      );
    });
  });
}

/** Somebody may have come to /auth with a browser; all else is asked by programs, some of which name text/html first. */
const isVisited = ({ url }: FastifyRequest) => /^\/oidc\/auth(?:[/?]|$)/i.test(url);

function usePageErrorsForBrowsers(scope: FastifyInstance): void {
  const page = pageErrorShape({ path: '/login', label: 'To the sign-in page' });
  scope.setErrorHandler((error: FastifyError, request, reply) => {
    const browser = isVisited(request) && asksForPage(request.headers.accept);
    return sendError(error, browser ? page : envelopeShape, request, reply);
  });
}

/** Hands the request over as it would have come in at the address of the issuer. */
async function pass(provider: Provider, publicUrl: string, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const raw = prepare(publicUrl, request);
  const form = request.body ? Object.fromEntries(Object.entries(request.body as Query).map(([name, values]) => [name, values[0] ?? ''])) : undefined;
  if (form) Object.assign(raw, { body: withBasic(form, raw.headers) });
  if (!isVisited(request)) raw.headers.accept = 'application/json';
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
  return {
    ...pageHeaders,
    'content-security-policy': (pageHeaders['content-security-policy'] ?? '').replace(
      "form-action 'self'",
      `form-action 'self' https: ${origin === 'null' ? protocol : origin}`,
    ),
  };
}

const isGone = (error: Error) => error instanceof SchoolbellError && error.code === 'not_found';

/** What the application asked for; not for long, and until somebody has signed in. */
async function requireInteraction(provider: Provider, publicUrl: string, request: FastifyRequest, reply: FastifyReply): Promise<Interaction> {
  try {
    return await provider.interactionDetails(prepare(publicUrl, request), reply.raw);
  } catch (error) {
    const { errors } = await import('oidc-provider');
    if (!(error instanceof errors.SessionNotFound)) throw error;
    const words = 'This sign-in has expired or is finished. Go back to the application and sign in from there again.';
    throw new SchoolbellError('not_found', words, { detail: error.error_description });
  }
}

async function showSignIn(parts: SingleSignOn, provider: Provider, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | void> {
  const { db } = parts;
  const interaction = await requireInteraction(provider, parts.publicUrl, request, reply);
  const { params, prompt } = interaction;
  const who = await findSignedIn(db, request);
  const asksAgain = prompt.reasons.some((reason) => reason !== 'no_session' && reason !== 'consent_prompt');
  if (who && !who.mustChange && !asksAgain) return finish(provider, db, request, reply, String(params.client_id), who.estab, who.presence.id);
  return sendForm(parts, request, reply, interaction, { estab: readRememberedSchool(request), userName: String(params.login_hint ?? '') });
}

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;
type TypedLogin = { estab: string; userName: string; problem?: string };

async function sendForm(parts: SingleSignOn, request: FastifyRequest, reply: FastifyReply, { params }: Interaction, typed: TypedLogin): Promise<FastifyReply> {
  const { db, publicUrl } = parts;
  const client = await findClient(db, String(params.client_id));
  const page = renderSignIn({ token: giveFormToken(request, reply, publicUrl), path: request.url.split('?', 1)[0] ?? '', to: client?.client_name, ...typed });
  return reply.headers(headersFor(params.redirect_uri)).send(page);
}

async function signIn(parts: SingleSignOn, provider: Provider, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | void> {
  const { db, tries, hashing, publicUrl } = parts;
  requireGivenToken(request);
  const interaction = await requireInteraction(provider, publicUrl, request, reply);
  const form = readForm(request);
  const [estab, userName] = [form.one('estab'), form.one('username')];
  const tried = await tryLogin(tries, hashing.anyone, { operation: 'SignIn', estab, userName, password: form.exact('password'), address: request.ip });
  if (tried.kind !== 'right') return sendForm(parts, request, reply.code(401), interaction, { estab, userName, problem: wrong });
  await rememberSchool(db, reply, tried.estab, publicUrl);
  const cookie = await openSession(db, tried.estab, tried.presence.id, publicUrl);
  const clientId = String(interaction.params.client_id);
  if (!tried.mustChange) return finish(provider, db, request, reply.header('set-cookie', cookie), clientId, tried.estab, tried.presence.id);
  return sendPage(reply.header('set-cookie', cookie), renderMessage({
    title: 'One thing first',
    text: 'Choose a password of your own, then go back to the application and sign in again.',
    link: { path: '/account/password', label: 'Choose a password' },
  }));
}

async function finish(
  provider: Provider,
  db: Db,
  request: FastifyRequest,
  reply: FastifyReply,
  clientId: string,
  estab: string,
  presenceId: string,
): Promise<void> {
  const welcome = await isWelcome(db, clientId, estab);
  const result = welcome
    ? { login: { accountId: accountId(estab, presenceId) }, consent: {} }
    : { error: 'access_denied', error_description: 'the school does not authorise this application to have its people sign in' };
  const cookies = reply.getHeader('set-cookie');
  reply.hijack();
  if (cookies) reply.raw.setHeader('set-cookie', cookies);
  await provider.interactionFinished(request.raw, reply.raw, result, { mergeWithLastSubmission: false });
}
