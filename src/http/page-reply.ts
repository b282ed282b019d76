// In charge of how a page leaves, and how a browser is sent on.
import type { FastifyReply } from 'fastify';
import { pageHeaders, scriptedPageHeaders } from './html.ts';

export function sendPage(reply: FastifyReply, page: string): FastifyReply {
  return reply.headers(pageHeaders).send(page);
}

export function sendScriptedPage(reply: FastifyReply, page: string): FastifyReply {
  return reply.headers(scriptedPageHeaders).send(page);
}

/** To another page; a reload then repeats nothing. */
export function redirect(reply: FastifyReply, path: string): FastifyReply {
  return reply.code(303).header('location', path).header('cache-control', 'no-store').send();
}
