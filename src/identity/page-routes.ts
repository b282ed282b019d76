// In charge of the addresses at which people sign in, register through the link of a mail, change their password and
// sign out.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { renderCookie } from '../http/cookies.ts';
import { giveFormToken, requireGivenToken } from '../http/form-token.ts';
import { acceptForms, readFields, readForm, type Form } from '../http/forms.ts';
import { GoTo, usePageErrors } from '../http/page-error.ts';
import { redirect, sendPage } from '../http/page-reply.ts';
import { renderMessage } from '../http/pages/message.ts';
import type { Query } from '../http/query.ts';
import { findRegistration, register, requireOther, requirePassword, setPassword, tryLogin } from './logins.ts';
import { renderAccount, renderChoosePassword, renderSignIn } from './pages/sign-in.ts';
import { hashPassword } from './passwords.ts';
import { endSession, findSignedIn, loginCookie, openSession, type SignedIn } from './sessions.ts';

export type SignInPages = { db: Db; publicUrl: string };

const hidden = { schema: { hide: true } } as const;
export const wrong = 'The school number, user name or password is wrong. After ten wrong tries a login is locked: wait 15 minutes, or ask your school to unlock it.';

export function signInRoutes(app: FastifyInstance, { db, publicUrl }: SignInPages): void {
  app.register(async (scope) => {
    acceptForms(scope);
    usePageErrors(scope, { path: '/login', label: 'To the sign-in page' });
    scope.get('/login', hidden, async (request, reply) => {
      if (await findSignedIn(db, request)) return redirect(reply, '/account');
      const asked = readFields(request.query as Query);
      const notice = asked.one('done') === 'registered' ? 'Your password is saved. Sign in with it now.' : undefined;
      return sendPage(reply, renderSignIn({ token: giveFormToken(request, reply, publicUrl), path: '/login', estab: asked.one('estab'), userName: asked.one('username'), notice }));
    });
    scope.post('/login', hidden, async (request, reply) => signIn({ db, publicUrl }, request, reply));
    scope.get('/register/:token', hidden, async (request, reply) => {
      const { token } = request.params as { token: string };
      const found = await findRegistration(db, token);
      if (!found) return sendPage(reply.code(404), renderMessage({ title: 'This link does not open any more', text: 'It has been used or has expired. Ask your school for a new one.' }));
      return sendPage(reply, renderChoosePassword({ token: giveFormToken(request, reply, publicUrl), path: `/register/${token}`, person: found.presence, first: true }));
    });
    scope.post('/register/:token', hidden, async (request, reply) => registerPerson({ db, publicUrl }, request, reply));
    scope.get('/account', hidden, async (request, reply) => {
      const who = await requireSignedIn(db, request);
      const [school] = await db<{ name: string }[]>`select name from establishment where estab = ${who.estab}`;
      return sendPage(reply, renderAccount({ token: giveFormToken(request, reply, publicUrl), person: who.presence, school: school?.name ?? who.estab }));
    });
    scope.get('/account/password', hidden, async (request, reply) => {
      const who = await requireSignedIn(db, request, true);
      return sendPage(reply, renderChoosePassword({ token: giveFormToken(request, reply, publicUrl), path: '/account/password', person: who.presence, first: false, notice: who.mustChange ? 'Before you go on, choose a password of your own.' : undefined }));
    });
    scope.post('/account/password', hidden, async (request, reply) => changePassword({ db, publicUrl }, request, reply));
    scope.post('/account/sign-out', hidden, async (request, reply) => {
      requireGivenToken(request);
      await endSession(db, await requireSignedIn(db, request, true));
      return redirect(reply.header('set-cookie', renderCookie(loginCookie, '', publicUrl, 0)), '/login');
    });
  });
}

async function requireSignedIn(db: Db, request: FastifyRequest, evenIfMustChange = false): Promise<SignedIn> {
  const who = await findSignedIn(db, request);
  if (!who) throw new GoTo('/login');
  if (who.mustChange && !evenIfMustChange) throw new GoTo('/account/password');
  return who;
}

async function signIn({ db, publicUrl }: SignInPages, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  requireGivenToken(request);
  const form = readForm(request);
  const [estab, userName] = [form.one('estab'), form.one('username')];
  const tried = await tryLogin(db, estab, userName, form.exact('password'));
  if (tried.kind !== 'right') return sendPage(reply.code(401), renderSignIn({ token: giveFormToken(request, reply, publicUrl), path: '/login', estab, userName, problem: wrong }));
  return redirect(reply.header('set-cookie', await openSession(db, estab, tried.presence.id, publicUrl)), tried.mustChange ? '/account/password' : '/account');
}

function requireSame(form: Form): string {
  const password = form.exact('password');
  if (password !== form.exact('repeated')) throw new SchoolbellError('unprocessable', 'The two passwords are not the same.');
  return password;
}

async function registerPerson({ db, publicUrl }: SignInPages, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  requireGivenToken(request);
  const { token } = request.params as { token: string };
  try {
    const { estab, presence, invitation } = await register(db, token, requireSame(readForm(request)));
    // A login never decides for the school: that is for whoever reads its mail.
    if (invitation !== null) return sendPage(reply, renderMessage({
        title: 'Your password is saved',
        text: 'Your school was asked to share data with the application. The decision is made on the pages of the school, whose link goes to its address of record.',
        link: { path: '/school', label: 'Have the link sent' },
      }));
    return redirect(reply, `/login?done=registered&estab=${encodeURIComponent(estab)}&username=${encodeURIComponent(presence.userName)}`);
  } catch (error) {
    const found = error instanceof SchoolbellError && error.code === 'unprocessable' ? await findRegistration(db, token) : undefined;
    if (!found) throw error;
    return sendPage(reply.code(422), renderChoosePassword({ token: giveFormToken(request, reply, publicUrl), path: `/register/${token}`, person: found.presence, first: true, problem: (error as Error).message }));
  }
}

async function changePassword({ db, publicUrl }: SignInPages, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  requireGivenToken(request);
  const who = await requireSignedIn(db, request, true);
  try {
    const password = requireSame(readForm(request));
    requirePassword(password, who.presence);
    await requireOther(db, who.estab, who.presence.id, password);
    const hash = await hashPassword(password);
    await db.begin((tx) => setPassword(tx, who.estab, who.presence.id, hash, { changeAtNextLogin: false, unlock: false }));
  } catch (error) {
    if (!(error instanceof SchoolbellError && error.code === 'unprocessable')) throw error;
    return sendPage(reply.code(422), renderChoosePassword({ token: giveFormToken(request, reply, publicUrl), path: '/account/password', person: who.presence, first: false, problem: error.message }));
  }
  return redirect(reply.header('set-cookie', await openSession(db, who.estab, who.presence.id, publicUrl)), '/account');
}
