// In charge of the token in every form: made from a key that only this browser holds, so that another site can neither
// read nor guess it. The key is that of a session or, where nobody is signed in yet, a cookie of its own.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { SchoolbellError } from '../errors.ts';
import { findCookie, renderCookie } from './cookies.ts';
import { readForm } from './forms.ts';

const formCookie = { name: 'schoolbell_form', path: '/' } as const;

export function formToken(key: string): string {
  return createHmac('sha256', key).update('form').digest('base64url');
}

export function requireFormToken(key: string | undefined, given: string | undefined): void {
  const [wanted, got] = [Buffer.from(formToken(key ?? '')), Buffer.from(given ?? '')];
  if (!key || wanted.length !== got.length || !timingSafeEqual(wanted, got)) {
    throw new SchoolbellError('forbidden', 'This page has grown old. Go back, reload it, and try again.');
  }
}

/** The token for a page without a session; its key goes out with the page. */
export function giveFormToken(request: FastifyRequest, reply: FastifyReply, publicUrl: string): string {
  const key = findCookie(request, formCookie) || randomBytes(32).toString('base64url');
  reply.header('set-cookie', renderCookie(formCookie, key, publicUrl));
  return formToken(key);
}

/** That a form came from a page which was given its token. */
export function requireGivenToken(request: FastifyRequest): void {
  requireFormToken(findCookie(request, formCookie), readForm(request).one('token'));
}
