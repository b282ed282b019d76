// In charge of the pages that stand before the console: one card, and nothing of what is inside.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { errorCodes } from '../../errors.ts';
import { longestStatementsMs } from '../../http/deadline.ts';
import { html, type Html } from '../../http/html.ts';
import { sendPage } from '../../http/page-reply.ts';
import { renderFrame } from '../../http/pages/frame.ts';
import { findCookie } from '../../http/cookies.ts';
import { findKnownBrowser, renderKnownCookie, type KnownParts } from '../../operators/known-browser.ts';
import { consoleCookie, type Opened } from '../../operators/sessions.ts';
import { hidden, isTheirs } from '../serve.ts';
import type { ConsoleParts } from '../visit.ts';

/** For what waits for its turn at hashing, or for two. */
export const longestHashingMs = ({ hashing }: ConsoleParts, turns = 1) => turns * hashing.longestMs + longestStatementsMs;
export const hashes = (parts: ConsoleParts) => ({ ...hidden, config: { longestMs: longestHashingMs(parts) } });

export function sendCard(reply: FastifyReply, { title, body, problem }: { title: string; body: Html; problem?: string | undefined }): FastifyReply {
  return sendPage(reply, renderFrame({ title, problem, body: html`<section class="card narrow"><h1>${title}</h1>\n${body}</section>` }));
}

/** As it is inside: the page that they came from is shown again, with what they can put right. */
export async function orAgain(
  reply: FastifyReply,
  work: () => Promise<FastifyReply>,
  again: (problem: string) => FastifyReply | Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await work();
  } catch (error) {
    if (!isTheirs(error)) throw error;
    reply.code(errorCodes[error.code].status).headers(error.headers);
    return again(error.message);
  }
}

const knownParts = ({ seal, now, config }: ConsoleParts): KnownParts => ({ seal, now, publicUrl: config.publicUrl });
export const knownBrowser = (parts: ConsoleParts, request: FastifyRequest) => findKnownBrowser(knownParts(parts), request);

/** Of whoever has just come in by a password; with all that was asked for their browser is known from now on. */
export function cookiesOf(parts: ConsoleParts, { cookie, proven, mark }: Opened): string[] {
  return proven ? [cookie, renderKnownCookie(knownParts(parts), mark)] : [cookie];
}

/** The session that this browser has, whoever's it is: another takes its place. */
export const sessionBefore = (request: FastifyRequest) => findCookie(request, consoleCookie);

const ownRoot = '/console';

/** Whatever the address says: to nowhere but the console, not by way of .. either. */
export function ownPath(to: string): string {
  if (!/^\/console(?:[/?][\w\-./?=&%:~!+,@*]*)?$/.test(to)) return ownRoot;
  const { pathname, search } = new URL(to, 'http://console.invalid');
  return pathname === ownRoot || pathname.startsWith(`${ownRoot}/`) ? `${pathname}${search}` : ownRoot;
}
