// In charge of the addresses of the identity API: five operations, their names in any case.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { HashPool } from '../access/hash-pool.ts';
import type { IdentityCaller, RequireIdentityCaller } from '../access/identity-caller.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { longestStatementsMs } from '../http/deadline.ts';
import { requireDescribedQuery } from '../http/known-parameters.ts';
import { refuseAt, refuseOtherMethods } from '../http/known-addresses.ts';
import type { Outbound } from '../http/outbound.ts';
import { parseQuery, requireWellFormed, type Query } from '../http/query.ts';
import { createLogin } from './create-login.ts';
import { createUser } from './create-user.ts';
import { answerQrCode } from './answer-qr-code.ts';
import { audit } from './audit.ts';
import { describeOperation, identitySchemas, type OperationName } from './describe-operations.ts';
import { getUsers } from './get-users.ts';
import { resetPassword } from './reset-password.ts';

export type Identity = { db: Db; hashing: HashPool; publicUrl: string; pictures: Outbound; requireCaller: RequireIdentityCaller };

type Operation = {
  name: OperationName;
  methods: readonly ('GET' | 'POST')[];
  credential: 'school' | 'management' | 'either';
  /** Whether it waits for the threads that hash. */
  hashes?: true;
  run(identity: Identity, caller: IdentityCaller, request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
};

const root = '/api/v1/Identity';
const bodyBytes = 1024 * 1024;
const own = ({ rp, estab }: IdentityCaller) => ({ rp, estab: estab ?? '' });

const operations: readonly Operation[] = [
  {
    name: 'ResetPassword',
    methods: ['POST'],
    credential: 'school',
    hashes: true,
    run: ({ db, hashing }, caller, request) => resetPassword(db, hashing.known, own(caller), request.query as Query, request.body),
  },
  { name: 'GetUsers', methods: ['GET'], credential: 'school', run: ({ db }, caller, request) => getUsers(db, own(caller), request.query as Query) },
  {
    name: 'GenerateQRCode',
    methods: ['GET', 'POST'],
    credential: 'management',
    run: ({ pictures }, _caller, request, reply) => answerQrCode(pictures, request, reply),
  },
  {
    name: 'CreateLogin',
    methods: ['POST'],
    credential: 'school',
    run: ({ db, publicUrl }, caller, request) => createLogin(db, publicUrl, own(caller), request.query as Query, request.body),
  },
  { name: 'CreateUser', methods: ['POST'], credential: 'either', run: ({ db, publicUrl }, caller, request) => createUser(db, publicUrl, caller, request.body) },
];

export function identityRoutes(app: FastifyInstance, identity: Identity): void {
  app.register(async (scope) => {
    acceptBodies(scope);
    for (const schema of identitySchemas) scope.addSchema(schema);
    for (const { name, methods, credential, run, hashes } of operations) {
      for (const method of methods)
        scope.route({
          method,
          url: `${root}/${name}`,
          ...describeOperation(name, method),
          ...(hashes ? { config: { longestMs: identity.hashing.longestMs + longestStatementsMs } } : {}),
          handler: async (request, reply) => {
            const caller = await identity.requireCaller(request, credential);
            reply.header('cache-control', 'no-store');
            return audited(identity.db, name, caller, async () => {
              requireDescribedQuery(request, name);
              return run(identity, caller, request, reply);
            });
          },
        });
      refuseOtherMethods(scope, `${root}/${name}`, methods);
    }
    const names = operations.map(({ name }) => name).join(', ');
    refuseAt(scope, `${root}/:operation`, undefined, ({ params }) => {
      const { operation } = params as { operation: string };
      return new SchoolbellError('not_found', `There is no operation "${operation.slice(0, 40)}"; there are ${names}.`);
    });
  });
}

/** What was done is recorded where it is done; what was refused is recorded here. */
async function audited(db: Db, operation: string, { rp, estab = '' }: IdentityCaller, run: () => Promise<unknown>): Promise<unknown> {
  try {
    const answer = await run();
    if (operation === 'GenerateQRCode') await audit(db, { estab, rp, operation, presenceId: null, outcome: 'done' });
    return answer;
  } catch (error) {
    if (error instanceof SchoolbellError) await audit(db, { estab, rp, operation, presenceId: null, outcome: `refused: ${error.code}` });
    throw error;
  }
}

/** JSON or a form; many clients send a JSON header with an empty body. */
function acceptBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string', bodyLimit: bodyBytes }, (request, body, done) => {
    try {
      done(null, parseBody(request.headers['content-type'] ?? '', String(body)));
    } catch (error) {
      done(error as Error);
    }
  });
}

function parseBody(contentType: string, text: string): unknown {
  if (text.trim() === '') return undefined;
  if (contentType.includes('urlencoded')) {
    const form = parseQuery(text);
    requireWellFormed(form);
    return Object.fromEntries(Object.entries(form).map(([name, values]) => [name, values.length === 1 ? values[0] : values]));
  }
  if (!contentType.includes('json')) throw new SchoolbellError('unsupported_media_type', 'The body must be JSON or a form.');
  try {
    return JSON.parse(text);
  } catch {
    throw new SchoolbellError('invalid_request', 'The body is not valid JSON.');
  }
}
