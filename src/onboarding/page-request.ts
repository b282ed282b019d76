// In charge of what every request to a school's pages goes through: the session of the cookie, the token of a form, and
// errors that a person can read.
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Db } from '../db/connect.ts';
import { errorCodes, SchoolbellError } from '../errors.ts';
import { pageHeaders } from '../http/html.ts';
import { parseQuery, requireWellFormed, type Query } from '../http/query.ts';
import { findSession, isFormToken, type SchoolSession } from './links.ts';
import { renderMessage } from './pages/message.ts';

export type Form = { all(name: string): readonly string[]; one(name: string): string };

const cookieName = 'schoolbell_school';
const formBytes = 64 * 1024;

/** Without a session there is one place to go. */
export class SignedOut extends Error {}

export function acceptForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string', bodyLimit: formBytes }, (_request, body, done) => done(null, parseQuery(body as string)));
  app.setErrorHandler((error: FastifyError | SchoolbellError | SignedOut, request, reply) => {
    if (error instanceof SignedOut) return reply.code(303).header('location', '/school').send();
    const known = error instanceof SchoolbellError ? error : undefined;
    if (!known && (error as FastifyError).statusCode === undefined) request.log.error({ err: error }, 'unexpected error');
    const status = known ? errorCodes[known.code].status : ((error as FastifyError).statusCode ?? 500);
    return sendPage(reply.code(status), renderMessage({ title: status >= 500 ? 'Something went wrong' : 'This did not work', text: known?.message ?? 'Please go back and try again. If it happens again, tell the operator of this service.', link: { path: '/school/home', label: 'Back to your applications' } }));
  });
}

export function sendPage(reply: FastifyReply, page: string): FastifyReply {
  return reply.headers(pageHeaders).send(page);
}

/** Back to where a person came from; a reload then repeats nothing. */
export function redirect(reply: FastifyReply, path: string): FastifyReply {
  return reply.code(303).header('location', path).header('cache-control', 'no-store').send();
}

export function readCookie(request: FastifyRequest): string | undefined {
  const pair = (request.headers.cookie ?? '').split(';').map((one) => one.trim()).find((one) => one.startsWith(`${cookieName}=`));
  return pair?.slice(cookieName.length + 1);
}

/** Lax: the first request comes from a mail. */
export function renderCookie(value: string, seconds: number, publicUrl: string): string {
  return `${cookieName}=${value}; Path=/school; Max-Age=${seconds}; HttpOnly; SameSite=Lax${publicUrl.startsWith('https:') ? '; Secure' : ''}`;
}

export async function requireSession(db: Db, request: FastifyRequest): Promise<SchoolSession> {
  const session = await findSession(db, readCookie(request));
  if (!session) throw new SignedOut();
  return session;
}

/** A form of this session's own pages; another site cannot have made it. */
export async function requireForm(db: Db, request: FastifyRequest): Promise<{ session: SchoolSession; form: Form }> {
  const session = await requireSession(db, request);
  const form = readForm(request.body as Query | undefined);
  requireToken(session, form.one('token'));
  return { session, form };
}

export function requireToken(session: SchoolSession, token: string | undefined): void {
  if (!isFormToken(session, token)) throw new SchoolbellError('forbidden', 'This page has grown old. Go back, reload it, and try again.');
}

export function readForm(body: Query | undefined): Form {
  const query = body ?? {};
  requireWellFormed(query);
  return { all: (name) => query[name] ?? [], one: (name) => query[name]?.[0]?.trim() ?? '' };
}
