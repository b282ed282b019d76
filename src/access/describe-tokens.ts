// In charge of describing GetToken and the keys for the documentation.
import type { RouteShorthandOptions } from 'fastify';
import { Type } from '../http/json-schema.ts';
import { describeRoute, envelopeFields, exactly, instant, jsonOrForm, orNull, text } from '../http/describe-route.ts';
import type { ErrorShape } from '../http/error-shape.ts';
import { noSecurity, openRefusals, secretRefusals } from './describe-caller.ts';

const token = { token: text('The token, for the Authorization header.'), expires: instant('When it ends: 24 hours from now.') };

/** What is known by name in the documents. */
export const tokenSchemas = [
  {
    $id: 'GetTokenError',
    ...exactly(
      { token: orNull(text('Always null.')), expires: orNull(text('Always null.')), ...envelopeFields },
      { description: 'There is no token: ExceptionType says why for programs, ExceptionMessage for people.' },
    ),
  },
];

const asked = Type.Object(
  {
    estab: Type.Optional(text('The establishment. Left out, the token is one of management.', { examples: ['9990001'] })),
    relyingParty: text('The identifier of the application (rp).', { examples: ['demo.example'] }),
    password: text('The school secret (sb_school_…) or, without estab, the management secret (sb_mgmt_…).', { examples: ['sb_school_…'] }),
    thirdpartyid: Type.Optional(text('Anything; it is not looked at.')),
  },
  { examples: [{ estab: '9990001', relyingParty: 'demo.example', password: 'sb_school_…' }] },
);

export const describeGetToken = (shape: ErrorShape): RouteShorthandOptions =>
  describeRoute({
    tag: 'Tokens',
    operationId: 'getToken',
    summary: 'Obtain a school token, or a management token',
    description:
      'Exchanges a secret for a token of 24 hours. With estab it is a school token, which opens that school; without it is a management token, which speaks' +
      ' for the application itself. Keys in any case, as JSON or as a form. A revoked secret ends its tokens at once.',
    security: noSecurity,
    body: jsonOrForm(asked),
    answers: { 200: exactly({ ...token, ...envelopeFields }, { description: 'The token.' }) },
    errors: secretRefusals,
    errorsAs: { shape, schema: 'GetTokenError' },
  });

/** Members beside these differ with the kind of key. */
const key = Type.Object(
  {
    kid: text('Which key a token was signed with.'),
    kty: text('The kind of key.'),
    alg: text('The algorithm.'),
    use: text('sig: for signatures.'),
  },
  { additionalProperties: true, description: 'A JSON Web Key (RFC 7517).' },
);

export const describeKeys: RouteShorthandOptions = describeRoute({
  tag: 'Keys',
  operationId: 'getKeys',
  summary: 'Keys that verify tokens',
  description: 'The public keys of all tokens that are valid now, the present one first. Tokens name theirs as kid: read the keys again for one you lack.',
  security: noSecurity,
  answers: { 200: exactly({ keys: Type.Array(key, { description: 'The keys.' }) }, { description: 'A JSON Web Key Set.' }) },
  errors: openRefusals,
});
