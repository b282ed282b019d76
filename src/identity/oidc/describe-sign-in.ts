// In charge of describing single sign-on for the documentation: briefly, since its discovery document says the rest to programs.
import type { RouteShorthandOptions } from 'fastify';
import { Type, type TSchema } from '../../http/json-schema.ts';
import { bodyRefusals, openRefusals } from '../../access/describe-caller.ts';
import { describeRoute, exactly, flag, named, oneOf, text, whole, type RouteWords } from '../../http/describe-route.ts';

const error = (description: string) =>
  exactly({ error: text('The code, for programs.'), error_description: Type.Optional(text('What was wrong, for people.')) }, { description });
/** What cannot be read does not come as far as the provider. */
const unread = (description: string) => Type.Unsafe({ description, anyOf: [error('As OAuth 2.0 has it.'), named('Error')] });
const texts = (description: string) => Type.Array(Type.String(), { description });

const discovery = Type.Object(
  {
    issuer: text('The issuer, as ID tokens name it.'),
    authorization_endpoint: text('Where a person is sent to sign in.'),
    token_endpoint: text('Where a code is exchanged.'),
    userinfo_endpoint: text('Where the claims are read.'),
    jwks_uri: text('Where the keys are.'),
    revocation_endpoint: text('Where a token is ended.'),
    scopes_supported: texts('openid, profile and email.'),
    claims_supported: texts('What can be told of a person.'),
  },
  { additionalProperties: true, description: 'The OpenID provider metadata.' },
);
/** Those of `signInClaims`, which a test compares. */
export const claimSchemas: Readonly<Record<string, TSchema>> = {
  sub: text('The person, among those of all schools: the school, a pipe and the PresenceId.'),
  presence_id: text('The Id of GetUsers: the person at their school.'),
  sourced_id: Type.Optional(text('The sourcedId in the roster; absent for somebody who was added.')),
  role: text('The role in the roster.'),
  estab: text('The school.'),
  name: Type.Optional(text('With the scope profile: the full name.')),
  given_name: Type.Optional(text('With the scope profile.')),
  family_name: Type.Optional(text('With the scope profile.')),
  preferred_username: Type.Optional(text('With the scope profile: the name of the login.')),
  email: Type.Optional(text('With the scope email: the work e-mail, if there is one.')),
  email_verified: Type.Optional(flag('Whether the person has opened a link that was sent there.')),
};
const issued = exactly(
  {
    access_token: text('Opens the userinfo endpoint.'),
    id_token: text('Who signed in: a JWT that the keys of jwks verify.'),
    token_type: oneOf(['Bearer'], 'Always Bearer.'),
    expires_in: whole('How many seconds it holds.'),
    scope: text('What it opens.'),
  },
  { description: 'The tokens.' },
);

const key = Type.Object({ kid: text('Which key.'), kty: text('The kind of key.') }, { additionalProperties: true, description: 'A JSON Web Key.' });

const form = (properties: Record<string, TSchema>) => ({ content: { 'application/x-www-form-urlencoded': { schema: Type.Object(properties) } } });
const redirect = text('One that is registered for the application.', { format: 'uri', examples: ['https://app.example/signed-in'] });
const asked = {
  client_id: text("The application's client id.", { examples: ['demo-client'] }),
  redirect_uri: redirect,
  response_type: oneOf(['code'], 'The only one.', { examples: ['code'] }),
  scope: text('openid, and profile and email where wanted.', { examples: ['openid profile email'] }),
  code_challenge: text('PKCE is needed: the SHA-256 of the verifier, in base64url.', { examples: ['E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'] }),
  code_challenge_method: oneOf(['S256'], 'The only one.', { examples: ['S256'] }),
  state: Type.Optional(text('Comes back as it was sent.', { examples: ['af0ifjsldkj'] })),
  nonce: Type.Optional(text('Comes back in the ID token.', { examples: ['n-0S6_WzA2Mj'] })),
  response_mode: Type.Optional(oneOf(['query', 'form_post'], 'How the answer comes back; query unless given.', { examples: ['query'] })),
  login_hint: Type.Optional(text('A user name to begin with.', { examples: ['h.dsilva'] })),
  prompt: Type.Optional(text('login: sign in again. none: without a page, or not at all.', { examples: ['login'] })),
};

type Words = Omit<RouteWords, 'tag' | 'streamed'> & { method: 'GET' | 'POST'; path: string };
const refused = { 400: unread('Refused; error says why.'), 401: error('The client or the token is not known.') };
const challenge = { 'WWW-Authenticate': { type: 'string', description: 'How to present a token, and why this one was refused.' } };
const refusedToken = Object.fromEntries(Object.entries(refused).map(([status, schema]) => [status, Type.Unsafe({ ...schema, headers: challenge })]));
const client = [{ signInClient: [] }];

/** By their addresses behind the root. */
const operations: readonly Words[] = [
  {
    method: 'GET',
    path: '/.well-known/openid-configuration',
    operationId: 'getSignInConfiguration',
    summary: 'Discovery',
    description: 'Where everything else is and what is supported: the only address that a library for OpenID Connect needs.',
    security: [],
    answers: { 200: discovery },
    errors: openRefusals,
  },
  {
    method: 'GET',
    path: '/auth',
    operationId: 'signIn',
    summary: 'Send a person here to sign in',
    description:
      'Opened in a browser, not called. The person signs in with the login of their school and is sent back to redirect_uri with code, or with error' +
      ' (access_denied where the school does not authorise the application with Identity).',
    security: [],
    query: Type.Object(asked),
    answers: {
      200: {
        description: 'With response_mode=form_post: a page that posts the answer to redirect_uri by itself.',
        content: { 'text/html': { schema: text('The page.') } },
      },
      303: Type.Unsafe({ type: 'null', description: 'To the sign-in page, or back to the application.' }),
      400: {
        description: 'It cannot be sent back: a page says why. Only what cannot be read at all is told to programs in JSON.',
        content: { 'text/html': { schema: text('The page.') } },
      },
    },
    errors: openRefusals,
  },
  {
    method: 'POST',
    path: '/token',
    operationId: 'getSignInTokens',
    summary: 'Exchange a code for tokens',
    description: 'Once for each code, within a minute. The client id and secret go as Basic or in the form.',
    security: client,
    body: form({
      grant_type: oneOf(['authorization_code'], 'The only one.'),
      code: text('From the redirect.'),
      redirect_uri: redirect,
      code_verifier: text('That of the challenge.'),
      client_id: Type.Optional(text('In place of Basic.')),
      client_secret: Type.Optional(text('In place of Basic.')),
    }),
    answers: { 200: issued, ...refused },
    errors: { ...openRefusals, ...bodyRefusals },
  },
  {
    method: 'GET',
    path: '/me',
    operationId: 'getSignedInUser',
    summary: 'Who signed in',
    description: 'The claims of the person, by the scopes that were asked for.',
    security: [{ signInToken: [] }, { signIn: ['openid'] }],
    answers: { 200: exactly(claimSchemas, { description: 'The claims.' }), ...refusedToken },
    errors: openRefusals,
  },
  {
    method: 'GET',
    path: '/jwks',
    operationId: 'getSignInKeys',
    summary: 'Keys that verify ID tokens',
    description: 'Other keys than those of the tokens of the API.',
    security: [],
    answers: {
      200: {
        description: 'A JSON Web Key Set.',
        content: { 'application/jwk-set+json': { schema: exactly({ keys: Type.Array(key, { description: 'The keys.' }) }) } },
      },
    },
    errors: openRefusals,
  },
  {
    method: 'POST',
    path: '/token/revocation',
    operationId: 'revokeSignInToken',
    summary: 'End an access token',
    description: 'It opens nothing any more. Also answered for a token that is not known.',
    security: client,
    body: form({
      token: text('The access token.'),
      client_id: Type.Optional(text('In place of Basic.')),
      client_secret: Type.Optional(text('In place of Basic.')),
    }),
    answers: { 200: Type.Unsafe({ type: 'null', description: 'It is ended.' }), ...refused },
    errors: { ...openRefusals, ...bodyRefusals },
  },
];

/** Each with what is registered for it. */
export const signInOperations = operations.map(({ method, path, ...words }) => ({
  method,
  path,
  options: describeRoute({ tag: 'Single sign-on', streamed: true, ...words }) satisfies RouteShorthandOptions,
}));
