// In charge of who is at a school's pages: the session of the cookie, forms that this session's own pages made,
// and what was just done.
import type { FastifyRequest } from 'fastify';
import type { Db } from '../db/connect.ts';
import { findCookie } from '../http/cookies.ts';
import { requireFormToken } from '../http/form-token.ts';
import { readForm, type Form } from '../http/forms.ts';
import { GoTo } from '../http/page-error.ts';
import type { Query } from '../http/query.ts';
import { noteCaller } from '../http/request-log.ts';
import { findSession, type SchoolSession } from './links.ts';

export const schoolCookie = { name: 'schoolbell_school', path: '/school' } as const;

/** Without a session there is one place to go. */
export async function requireSession(db: Db, request: FastifyRequest): Promise<SchoolSession> {
  const session = await findSession(db, findCookie(request, schoolCookie));
  if (!session) throw new GoTo('/school');
  noteCaller(request, { estab: session.estab });
  return session;
}

export async function requireForm(db: Db, request: FastifyRequest): Promise<{ session: SchoolSession; form: Form }> {
  const session = await requireSession(db, request);
  const form = readForm(request);
  requireFormToken(session.key, form.one('token'));
  return { session, form };
}

/** What was just done: only words of our own are shown, whatever the address says. */
export function findNotice<Notice>(request: FastifyRequest, notices: Readonly<Record<string, Notice>>): Notice | undefined {
  const [done = ''] = (request.query as Query).done ?? [];
  return Object.hasOwn(notices, done) ? notices[done] : undefined;
}
