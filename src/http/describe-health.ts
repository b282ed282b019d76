// In charge of describing health for the documentation.
import type { RouteShorthandOptions } from 'fastify';
import { describeRoute, exactly, text } from './describe-route.ts';

const state = { status: text('ok, or what is the matter.') };
const status = (description: string) => exactly(state, { description });
const notReady = {
  description: 'It cannot; status says why. A browser is answered with a page.',
  content: {
    'application/json': { schema: exactly(state), example: { status: 'the database does not answer' } },
    'text/html': { schema: text('The page.') },
  },
};
const tag = 'Health';
const errors = { invalid_request: 'The query is not valid percent-encoded UTF-8 at "x=%zz".' } as const;

export const describeAlive: RouteShorthandOptions = describeRoute({
  tag,
  operationId: 'getHealth',
  summary: 'Whether the process lives',
  description: 'Answers as long as the process does, in every role, and asks nothing of the database. For a supervisor that restarts what has died.',
  security: [],
  answers: { 200: status('It lives.') },
  errors,
});

export const describeReady: RouteShorthandOptions = describeRoute({
  tag,
  operationId: 'getReadiness',
  summary: 'Whether it can serve',
  description: 'Whether the database is reachable, writable and migrated, and the process is not about to end. For a load balancer.',
  security: [],
  answers: { 200: status('It can.'), 503: notReady },
  errors,
});
