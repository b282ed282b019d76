// In charge of the addresses at which people sign in, register through the link of a mail, change their password and
// sign out.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { HashPool } from '../access/hash-pool.ts';
import { hashPassword } from '../access/passwords.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { renderCookie } from '../http/cookies.ts';
import { longestStatementsMs } from '../http/deadline.ts';
import { giveFormToken, requireGivenToken } from '../http/form-token.ts';
import { acceptForms, readFields, readForm, type Form } from '../http/forms.ts';
import { GoTo, usePageErrors } from '../http/page-error.ts';
import { redirect, sendPage } from '../http/page-reply.ts';
import { renderMessage, type Link } from '../http/pages/message.ts';
import type { Query } from '../http/query.ts';
import { askForPassword } from './forgotten-password.ts';
import { findRegistration, register, requireOther, requirePassword, samePassword, setPassword, type Registration } from './logins.ts';
import { renderAccount, renderChoosePassword, renderForgotten, renderLinkAsked, renderSignIn } from './pages/sign-in.ts';
import { readRememberedSchool, rememberSchool } from './remembered-school.ts';
import { endSession, findSignedIn, loginCookie, openSession, type SignedIn } from './sessions.ts';
import { tryLogin } from './try-login.ts';

/** tries: a pool of its own for the passwords of strangers. */
export type SignInPages = { db: Db; tries: Db; hashing: HashPool; publicUrl: string; sendsMail: boolean };

const usedLink = {
  title: 'This link does not open any more',
  text: 'It has been used or has expired. If you have chosen a password, sign in with it; if not, ask for a new link, or ask your school.',
  link: { path: '/login/forgotten', label: 'Ask for a new link' },
  other: { path: '/login', label: 'To the sign-in page' },
} as const;
const leadsOn = {
  title: 'Your password is saved',
  text: 'Your school was asked to share data with the application. It decides on its own pages.',
  link: { path: '/school', label: 'To the pages of your school' },
} as const;
const hidden = { schema: { hide: true } } as const;
const lock = 'After ten wrong passwords a login is locked for 15 minutes, and the right one is refused too. Wait, or ask your school: the operator of ' +
  'this service unlocks it for your school.';
export const wrong = `The school, user name or password is wrong. If schools have names alike, type the number of yours. ${lock}`;
const wrongPresent = `The present password is wrong. ${lock}`;

export function signInRoutes(app: FastifyInstance, pages: SignInPages): void {
  const { db, publicUrl } = pages;
  const hashes = { ...hidden, config: { longestMs: pages.hashing.longestMs + longestStatementsMs } };
  app.register(async (scope) => {
    acceptForms(scope);
    usePageErrors(scope, wayOn);
    scope.get('/login', hidden, async (request, reply) => {
      if (await findSignedIn(db, request)) return redirect(reply, '/account');
      const asked = readFields(request.query as Query);
      const notice = asked.one('done') === 'registered' ? 'Your password is saved. Sign in with it now.' : undefined;
      const typed = { estab: asked.one('estab') || readRememberedSchool(request), userName: asked.one('username') };
      return sendForm(pages, request, reply, (token) => renderSignIn({ token, path: '/login', ...typed, notice }));
    });
    scope.post('/login', hashes, async (request, reply) => signIn(pages, request, reply));
    scope.get('/login/forgotten', hidden, async (request, reply) =>
      sendForm(pages, request, reply, (token) => renderForgotten({ token, estab: readRememberedSchool(request), sendsMail: pages.sendsMail })),
    );
    scope.post('/login/forgotten', hidden, async (request, reply) => {
      requireGivenToken(request);
      const form = readForm(request);
      await askForPassword(db, request.ip, { school: form.one('estab'), person: form.one('username') });
      return sendPage(reply, renderLinkAsked(pages.sendsMail));
    });
    scope.get('/register/:token', hidden, async (request, reply) => {
      const { token } = request.params as { token: string };
      const found = await findRegistration(db, token);
      if (!found) return sendPage(reply.code(404), renderMessage(usedLink));
      return sendForm(pages, request, reply, (given) => renderFirst(given, token, found));
    });
    scope.post('/register/:token', hashes, async (request, reply) => registerPerson(pages, request, reply));
    scope.get('/account', hidden, async (request, reply) => {
      const who = await requireSignedIn(db, request);
      const [school] = await db<{ name: string }[]>`select name from establishment where estab = ${who.estab}`;
      return sendForm(pages, request, reply, (token) => renderAccount({ token, person: who.presence, school: school?.name ?? who.estab }));
    });
    scope.get('/account/password', hidden, async (request, reply) => {
      const who = await requireSignedIn(db, request, true);
      const said = who.mustChange ? { notice: 'Before you go on, choose a password of your own.' } : {};
      return sendForm(pages, request, reply, (token) => renderOther(token, who, said));
    });
    scope.post('/account/password', hashes, async (request, reply) => changePassword(pages, request, reply));
    scope.post('/account/sign-out', hidden, async (request, reply) => {
      requireGivenToken(request);
      await endSession(db, await requireSignedIn(db, request, true));
      return redirect(reply.header('set-cookie', renderCookie(loginCookie, '', publicUrl, 0)), '/login');
    });
  });
}

/** A link that was opened, and a form that has grown old, can be opened again; the rest begins at the sign-in. */
function wayOn({ url }: FastifyRequest): Link {
  const path = url.split('?', 1)[0] ?? '';
  return /^\/(register|account)\//.test(path) && path !== '/account/sign-out'
    ? { path, label: 'Open the page again' }
    : { path: '/login', label: 'To the sign-in page' };
}

/** With the token that its form sends back. */
function sendForm({ publicUrl }: SignInPages, request: FastifyRequest, reply: FastifyReply, render: (token: string) => string): FastifyReply {
  return sendPage(reply, render(giveFormToken(request, reply, publicUrl)));
}

async function requireSignedIn(db: Db, request: FastifyRequest, evenIfMustChange = false): Promise<SignedIn> {
  const who = await findSignedIn(db, request);
  if (!who) throw new GoTo('/login');
  if (who.mustChange && !evenIfMustChange) throw new GoTo('/account/password');
  return who;
}

async function signIn(pages: SignInPages, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { db, tries, hashing, publicUrl } = pages;
  requireGivenToken(request);
  const form = readForm(request);
  const [estab, userName] = [form.one('estab'), form.one('username')];
  const tried = await tryLogin(tries, hashing.anyone, { operation: 'SignIn', estab, userName, password: form.exact('password'), address: request.ip });
  if (tried.kind !== 'right') {
    return sendForm(pages, request, reply.code(401), (token) => renderSignIn({ token, path: '/login', estab, userName, problem: wrong }));
  }
  await rememberSchool(db, reply, tried.estab, publicUrl);
  const cookie = await openSession(db, tried.estab, tried.presence.id, publicUrl);
  return redirect(reply.header('set-cookie', cookie), tried.mustChange ? '/account/password' : '/account');
}

function requireSame(form: Form): string {
  const password = form.exact('password');
  if (password !== form.exact('repeated')) throw new SchoolbellError('unprocessable', 'The two passwords are not the same.');
  return password;
}

async function registerPerson(pages: SignInPages, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { db, hashing } = pages;
  requireGivenToken(request);
  const { token } = request.params as { token: string };
  try {
    const { estab, presence, invitation } = await register(db, hashing.anyone, token, requireSame(readForm(request)));
    // A login never decides for the school: that is for whoever reads its mail.
    if (invitation !== null) return sendPage(reply, renderMessage(leadsOn));
    return redirect(reply, `/login?done=registered&estab=${encodeURIComponent(estab)}&username=${encodeURIComponent(presence.userName)}`);
  } catch (error) {
    const found = error instanceof SchoolbellError && error.code === 'unprocessable' ? await findRegistration(db, token) : undefined;
    if (!found) throw error;
    return sendForm(pages, request, reply.code(422), (given) => renderFirst(given, token, found, (error as Error).message));
  }
}

const renderFirst = (formToken: string, token: string, { presence }: Registration, problem?: string) =>
  renderChoosePassword({ token: formToken, path: `/register/${token}`, person: presence, asks: 'first', problem });

/** Whoever finds a browser signed in cannot take the login over: the present password is asked for, unless it has just been used. */
const renderOther = (token: string, { presence, mustChange }: SignedIn, said: { notice?: string; problem?: string }) =>
  renderChoosePassword({ token, path: '/account/password', person: presence, asks: mustChange ? 'another' : 'present and another', ...said });

async function changePassword(pages: SignInPages, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { db, hashing, publicUrl } = pages;
  requireGivenToken(request);
  const who = await requireSignedIn(db, request, true);
  try {
    const form = readForm(request);
    const password = requireSame(form);
    await requirePassword(password, who.presence);
    if (who.mustChange) await requireOther(db, hashing.known, who.estab, who.presence.id, password);
    else await requirePresent(pages, who, { present: form.exact('present'), password, address: request.ip });
    const hash = await hashing.known((derive) => hashPassword(derive, password));
    await db.begin((tx) => setPassword(tx, who.estab, who.presence.id, hash, { changeAtNextLogin: false, unlock: false }));
  } catch (error) {
    if (!(error instanceof SchoolbellError && error.code === 'unprocessable')) throw error;
    return sendForm(pages, request, reply.code(422), (token) => renderOther(token, who, { problem: error.message }));
  }
  return redirect(reply.header('set-cookie', await openSession(db, who.estab, who.presence.id, publicUrl)), '/account');
}

/** Counted like a sign-in, and locked like one. */
async function requirePresent({ db, hashing }: SignInPages, who: SignedIn, given: { present: string; password: string; address: string }): Promise<void> {
  const { estab, presence: { userName } } = who;
  const tried = await tryLogin(db, hashing.known, { operation: 'ChangePassword', estab, userName, password: given.present, address: given.address });
  if (tried.kind !== 'right') throw new SchoolbellError('unprocessable', wrongPresent);
  if (given.password.normalize('NFKC') === given.present.normalize('NFKC')) throw samePassword();
}
