// In charge of describing the rostering token endpoints for the documentation.
import type { RouteShorthandOptions } from 'fastify';
import { Type } from '../http/json-schema.ts';
import { answerHeaders, describeErrors, ownFaults, type Refusal } from '../http/describe-errors.ts';
import { bodyLateMessage } from '../http/deadline.ts';
import { plainTextSchema } from '../http/error-shape.ts';
import { encoded } from './describe-caller.ts';
import { rosteringTokenEndpoints, type RosteringTokenName } from './rostering-token.ts';
import type { OneRosterScopes } from './scopes.ts';

type Words = Readonly<{ clients: string; tag: string; credentials: readonly string[] }>;

const words: Readonly<Record<RosteringTokenName, Words>> = {
  A: {
    clients: "Basic credentials are the application's client id and client secret; the token opens every school that authorises the application.",
    tag: 'Variant A: token',
    credentials: ['variantAClient'],
  },
  B: {
    clients: 'Basic credentials are `rp|estab` and the school secret; the token opens that school.',
    tag: 'Variant B: token',
    credentials: ['variantBClient'],
  },
  '1p2': {
    clients: `Credentials are those of either variant: \`rp|estab\` and the school secret, for that school; or the application's client id and client secret, \
for every school that authorises it.`,
    tag: 'OneRoster 1.2: token',
    credentials: ['variantBClient', 'variantAClient'],
  },
};

const tokenSchema = (answersScope: boolean) => Type.Object(
  {
    access_token: Type.String({ description: 'Send it as `Authorization: Bearer`.' }),
    token_type: Type.Unsafe<string>({ type: 'string', enum: ['Bearer'], description: 'Always Bearer.' }),
    expires_in: Type.Integer({ description: 'How many seconds it holds.' }),
    scope: Type.Optional(
      Type.String({
        description: answersScope
          ? 'What was granted, separated by blanks. Left out where nothing was asked for and the grant opens nothing of a roster yet.'
          : 'Where `scope` was asked for: what remains of it, separated by blanks.',
      }),
    ),
  },
  { description: 'A token, as OAuth 2.0 has it.', additionalProperties: false },
);

/** Shared by all. */
export const tokenErrorSchema = {
  $id: 'TokenError',
  ...Type.Object(
    { error: Type.String({ description: 'The code, for programs.' }), error_description: Type.String({ description: 'What was wrong, for people.' }) },
    { description: 'An error, as OAuth 2.0 has it.', additionalProperties: false },
  ),
};

const form = (scopes: OneRosterScopes) => Type.Object(
  {
    grant_type: Type.Optional(
      Type.Unsafe<string>({ type: 'string', enum: ['client_credentials'], description: 'May be left out; another one is refused.' }),
    ),
    scope: Type.Optional(
      Type.String({
        description: `Narrows the token: OneRoster scopes, separated by blanks. Those that cannot be granted are dropped. Known are \
${Object.values(scopes).map((one) => `\`${one}\``).join(', ')}; \`roster.readonly\` opens the core too.`,
      }),
    ),
    client_id: Type.Optional(Type.String({ description: 'In place of Basic: its user name.' })),
    client_secret: Type.Optional(Type.String({ description: 'In place of Basic: its password.' })),
  },
  {
    description: 'May be left out altogether. `grant_type` and `scope` may stand in the query instead.',
    examples: [{ grant_type: 'client_credentials' }],
  },
);

const refusals = (scopes: OneRosterScopes): readonly Refusal[] => [
  {
    code: 'unsupported_grant_type',
    when: 'The grant type is another one.',
    message: 'The grant type "password" is not supported; use client_credentials.',
  },
  {
    code: 'invalid_scope',
    when: 'Nothing of the requested scope can be granted.',
    message: `None of the requested scopes can be granted. Those that can: ${Object.values(scopes).join(' ')}.`,
  },
  { code: 'invalid_request', when: 'The body cannot be read.', message: 'The body is not valid JSON.' },
  {
    code: 'invalid_client',
    when: 'The credentials are wrong, or the authorisation is paused or revoked; which of them is not said.',
    message: 'The client ID or secret is invalid, or no school authorises this client at present.',
  },
  { code: 'request_timeout', when: 'The body did not arrive in time.', message: bodyLateMessage },
  { code: 'too_large', when: 'The body is larger than 16 KiB.', message: 'The body is too large.' },
  {
    code: 'unsupported_media_type',
    when: 'The body is compressed in a way that is not taken.',
    message: encoded,
  },
  {
    code: 'too_many_requests',
    when: 'Thirty wrong tries of this client from this address within a minute.',
    message: 'Too many wrong tries: 30 in a minute. Wait and try again.',
  },
  ownFaults.unexpected,
  ownFaults.unavailable,
];

const noStore = { type: 'string', description: 'Nobody on the way may keep it.', examples: ['no-store'] };

export function describeRosteringToken(name: RosteringTokenName): RouteShorthandOptions {
  const { clients, tag, credentials } = words[name];
  const { scopes, answersScope, errors } = rosteringTokenEndpoints[name];
  return {
    schema: {
      summary: 'Obtain a token',
      description: `${clients} Use the token until \`expires_in\` seconds are over; when a request is refused for its token, obtain a new one and try \
once more. Narrowed scopes, a pause and a revocation hold at once, whatever the token's age.`,
      operationId: `getToken_${name}`,
      tags: [tag],
      security: credentials.map((one) => ({ [one]: [] })),
      consumes: ['application/x-www-form-urlencoded'],
      body: form(scopes),
      response: {
        200: {
          description: 'The token.',
          headers: { 'Cache-Control': noStore, 'X-Request-Id': answerHeaders['X-Request-Id'] },
          content: { 'application/json': { schema: tokenSchema(answersScope) } },
        },
        ...describeErrors(errors, refusals(scopes), { schema: { $ref: 'TokenError#' }, ownFaultsSchema: plainTextSchema, limited: false }),
      },
      'x-body-optional': true,
    },
    // The endpoint's own reader takes bodies of any kind; this one only describes.
    validatorCompiler: () => () => true,
  };
}
