// In charge of the address of an inbox: whatever comes there is taken in and answered as the inbox was told; a person who opens
// it is led to its page.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { asksForPage } from '../../http/accepts-page.ts';
import { redirect } from '../../http/page-reply.ts';
import { inboxRoute } from '../../notifications/inbox/address.ts';
import { answerOf, noRoom, type InboxReply } from '../../notifications/inbox/answer.ts';
import { createHold } from '../../notifications/inbox/hold.ts';
import { findInboxByKey } from '../../notifications/inbox/inboxes.ts';
import { receiveCall } from '../../notifications/inbox/receive.ts';
import { findOperator } from '../../operators/sessions.ts';
import { inboxPath } from '../links.ts';
import { hidden, provePath, signInPath } from '../serve.ts';
import type { ConsoleParts } from '../visit.ts';

/** What the statements take, beside the longest wait. */
const statementsMs = 15_000;

export function inboxDoor(scope: FastifyInstance, { db, changes, seal, holds }: ConsoleParts): void {
  const hold = createHold(holds);
  const ending = new AbortController();
  scope.addHook('preClose', async () => ending.abort());
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

  /** Where a key leads is said to those alone who may go there. */
  async function show(request: FastifyRequest, reply: FastifyReply, key: string): Promise<FastifyReply> {
    const operator = await findOperator(db, request);
    const to = `?to=${encodeURIComponent(request.url)}`;
    if (!operator?.proven) return redirect(reply, `${operator ? provePath : signInPath}${to}`);
    const found = await findInboxByKey(db, key);
    const theirs = found && (operator.role !== 'developer' || operator.applications.includes(found.rp));
    return theirs ? redirect(reply, inboxPath(found.rp, found.id)) : send(reply, answerOf({ kind: 'unknown' }));
  }

  async function take(request: FastifyRequest, reply: FastifyReply, key: string): Promise<FastifyReply> {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, value === undefined ? undefined : String(value)]));
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const received = await receiveCall(changes, seal, key, { method: request.method, path: request.url, headers, body, address: request.ip });
    const answer = answerOf(received);
    if (received.kind !== 'taken' || (received.answer !== 'slow' && received.answer !== 'never')) return send(reply, answer);
    const gone = new AbortController();
    if (reply.raw.destroyed) gone.abort();
    reply.raw.once('close', () => gone.abort());
    const held = await hold(key, answer ? holds.slowMs : holds.neverMs, AbortSignal.any([gone.signal, ending.signal]));
    return send(reply, held ? answer : noRoom);
  }

  scope.route({
    method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
    url: inboxRoute,
    ...hidden,
    config: { longestMs: holds.neverMs + statementsMs, readsMalformedQuery: true },
    handler: async (request, reply) => {
      const { token } = request.params as { token: string };
      const byPerson = request.method === 'GET' && asksForPage(request.headers.accept) && request.headers['webhook-id'] === undefined;
      // No key has one, and the database takes none.
      if (token.includes('\0')) return send(reply, answerOf({ kind: 'unknown' }));
      return byPerson ? show(request, reply, token) : take(request, reply, token);
    },
  });
}

/** Without an answer the connection ends. */
function send(reply: FastifyReply, answer: InboxReply | undefined): FastifyReply {
  if (answer) return reply.code(answer.status).headers(answer.headers).send(answer.text);
  reply.hijack();
  reply.raw.destroy();
  return reply;
}
