// In charge of the addresses at which people sign in, register through the link of a mail, change their password and
// sign out.
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Db } from '../db/connect.ts';
import { errorCodes, SchoolbellError } from '../errors.ts';
import { pageHeaders } from '../http/html.ts';
import { parseQuery, requireWellFormed, type Query } from '../http/query.ts';
import { findRegistration, register, requireOther, requirePassword, setPassword, tryLogin } from './logins.ts';
import { renderAccount, renderChoosePassword, renderSaying, renderSignIn } from './pages/sign-in.ts';
import { hashPassword } from './passwords.ts';
import { endSession, findSignedIn, openSession, renderCookie, type SignedIn } from './sessions.ts';

export type SignInPages = { db: Db; publicUrl: string };

const hidden = { schema: { hide: true } } as const;
const formCookie = 'schoolbell_form';
const formBytes = 16 * 1024;
export const wrong = 'The school number, user name or password is wrong. After ten wrong tries a login is locked: wait 15 minutes, or ask your school to unlock it.';

export function signInRoutes(app: FastifyInstance, { db, publicUrl }: SignInPages): void {
  app.register(async (scope) => {
    acceptForms(scope);
    scope.get('/login', hidden, async (request, reply) => {
      if (await findSignedIn(db, request.headers.cookie)) return go(reply, '/account');
      return page(reply, renderSignIn({ token: giveToken(request, reply, publicUrl), path: '/login', estab: one(request.query as Query, 'estab'), userName: one(request.query as Query, 'username'), notice: one(request.query as Query, 'done') === 'registered' ? 'Your password is saved. Sign in with it now.' : undefined }));
    });
    scope.post('/login', hidden, async (request, reply) => signIn({ db, publicUrl }, request, reply));
    scope.get('/register/:token', hidden, async (request, reply) => {
      const { token } = request.params as { token: string };
      const found = await findRegistration(db, token);
      if (!found) return page(reply.code(404), renderSaying('This link does not open any more', 'It has been used or has expired. Ask your school for a new one.'));
      return page(reply, renderChoosePassword({ token: giveToken(request, reply, publicUrl), path: `/register/${token}`, person: found.presence, first: true }));
    });
    scope.post('/register/:token', hidden, async (request, reply) => registerPerson({ db, publicUrl }, request, reply));
    scope.get('/account', hidden, async (request, reply) => {
      const who = await requireSignedIn(db, request);
      const [school] = await db<{ name: string }[]>`select name from establishment where estab = ${who.estab}`;
      return page(reply, renderAccount({ token: giveToken(request, reply, publicUrl), person: who.presence, school: school?.name ?? who.estab }));
    });
    scope.get('/account/password', hidden, async (request, reply) => {
      const who = await requireSignedIn(db, request, true);
      return page(reply, renderChoosePassword({ token: giveToken(request, reply, publicUrl), path: '/account/password', person: who.presence, first: false, notice: who.mustChange ? 'Before you go on, choose a password of your own.' : undefined }));
    });
    scope.post('/account/password', hidden, async (request, reply) => changePassword({ db, publicUrl }, request, reply));
    scope.post('/account/sign-out', hidden, async (request, reply) => {
      requireToken(request);
      await endSession(db, await requireSignedIn(db, request, true));
      return go(reply.header('set-cookie', renderCookie('', 0, publicUrl)), '/login');
    });
  });
}

class SignedOut extends Error {}
class MustChange extends Error {}

function acceptForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string', bodyLimit: formBytes }, (_request, body, done) => done(null, parseQuery(body as string)));
  app.setErrorHandler((error: FastifyError | SchoolbellError, request, reply) => {
    if (error instanceof SignedOut) return go(reply, '/login');
    if (error instanceof MustChange) return go(reply, '/account/password');
    const known = error instanceof SchoolbellError ? error : undefined;
    if (!known && (error as FastifyError).statusCode === undefined) request.log.error({ err: error }, 'unexpected error');
    return page(reply.code(known ? errorCodes[known.code].status : ((error as FastifyError).statusCode ?? 500)), renderSaying('This did not work', known?.message ?? 'Please go back and try again.', { path: '/login', label: 'To the sign-in page' }));
  });
}

const page = (reply: FastifyReply, text: string) => reply.headers(pageHeaders).send(text);
const go = (reply: FastifyReply, path: string) => reply.code(303).header('location', path).header('cache-control', 'no-store').send();
const one = (query: Query | undefined, name: string) => query?.[name]?.[0]?.trim() ?? '';

function readForm(request: FastifyRequest): Query {
  const form = (request.body ?? {}) as Query;
  requireWellFormed(form);
  return form;
}

function readFormCookie(request: FastifyRequest): string | undefined {
  return (request.headers.cookie ?? '').split(';').map((part) => part.trim()).find((part) => part.startsWith(`${formCookie}=`))?.slice(formCookie.length + 1);
}

const tokenOf = (cookie: string) => createHmac('sha256', cookie).update('form').digest('base64url');

/** There is no session yet on most of these pages: the token belongs to a cookie of its own. */
export function giveToken(request: FastifyRequest, reply: FastifyReply, publicUrl: string): string {
  const cookie = readFormCookie(request) ?? randomBytes(32).toString('base64url');
  reply.header('set-cookie', `${formCookie}=${cookie}; Path=/; HttpOnly; SameSite=Lax${publicUrl.startsWith('https:') ? '; Secure' : ''}`);
  return tokenOf(cookie);
}

export function requireToken(request: FastifyRequest): void {
  const cookie = readFormCookie(request);
  const [wanted, given] = [Buffer.from(cookie ? tokenOf(cookie) : ''), Buffer.from(one(readForm(request), 'token'))];
  if (!cookie || wanted.length !== given.length || !timingSafeEqual(wanted, given)) throw new SchoolbellError('forbidden', 'This page has grown old. Go back, reload it, and try again.');
}

async function requireSignedIn(db: Db, request: FastifyRequest, evenIfMustChange = false): Promise<SignedIn> {
  const who = await findSignedIn(db, request.headers.cookie);
  if (!who) throw new SignedOut();
  if (who.mustChange && !evenIfMustChange) throw new MustChange();
  return who;
}

async function signIn({ db, publicUrl }: SignInPages, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  requireToken(request);
  const form = readForm(request);
  const [estab, userName] = [one(form, 'estab'), one(form, 'username')];
  const tried = await tryLogin(db, estab, userName, form.password?.[0] ?? '');
  if (tried.kind !== 'right') return page(reply.code(401), renderSignIn({ token: giveToken(request, reply, publicUrl), path: '/login', estab, userName, problem: wrong }));
  return go(reply.header('set-cookie', await openSession(db, estab, tried.presence.id, publicUrl)), tried.mustChange ? '/account/password' : '/account');
}

function requireSame(form: Query): string {
  const password = form.password?.[0] ?? '';
  if (password !== (form.repeated?.[0] ?? '')) throw new SchoolbellError('unprocessable', 'The two passwords are not the same.');
  return password;
}

async function registerPerson({ db, publicUrl }: SignInPages, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  requireToken(request);
  const { token } = request.params as { token: string };
  try {
    const { estab, presence, invitation } = await register(db, token, requireSame(readForm(request)));
    // A login never decides for the school: that is for whoever reads its mail.
    if (invitation !== null) return page(reply, renderSaying('Your password is saved', 'Your school was asked to share data with the application. The decision is made on the pages of the school, whose link goes to its address of record.', { path: '/school', label: 'Have the link sent' }));
    return go(reply, `/login?done=registered&estab=${encodeURIComponent(estab)}&username=${encodeURIComponent(presence.userName)}`);
  } catch (error) {
    const found = error instanceof SchoolbellError && error.code === 'unprocessable' ? await findRegistration(db, token) : undefined;
    if (!found) throw error;
    return page(reply.code(422), renderChoosePassword({ token: giveToken(request, reply, publicUrl), path: `/register/${token}`, person: found.presence, first: true, problem: (error as Error).message }));
  }
}

async function changePassword({ db, publicUrl }: SignInPages, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  requireToken(request);
  const who = await requireSignedIn(db, request, true);
  try {
    const password = requireSame(readForm(request));
    requirePassword(password, who.presence);
    await requireOther(db, who.estab, who.presence.id, password);
    const hash = await hashPassword(password);
    await db.begin((tx) => setPassword(tx, who.estab, who.presence.id, hash, { changeAtNextLogin: false, unlock: false }));
  } catch (error) {
    if (!(error instanceof SchoolbellError && error.code === 'unprocessable')) throw error;
    return page(reply.code(422), renderChoosePassword({ token: giveToken(request, reply, publicUrl), path: '/account/password', person: who.presence, first: false, problem: error.message }));
  }
  return go(reply.header('set-cookie', await openSession(db, who.estab, who.presence.id, publicUrl)), '/account');
}
