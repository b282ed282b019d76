// In charge of what the documentation says of callers: what each kind of credential is called there, and how whoever lacks
// one, or shows another, is refused.
import type { Refusals, Security } from '../http/describe-route.ts';
import { bodyLateMessage } from '../http/deadline.ts';
import { awayMessage } from '../http/error-shape.ts';

export const schoolSecurity: Security = [{ schoolToken: [] }];
export const managementSecurity: Security = [{ managementToken: [] }];
/** Of one school, or of the application itself. */
export const applicationSecurity: Security = [...schoolSecurity, ...managementSecurity];
/** The secret itself is taken as well, as Basic. */
export const identitySecurity = {
  school: [...schoolSecurity, { schoolSecret: [] }],
  management: [...managementSecurity, { managementSecret: [] }],
  either: [...applicationSecurity, { schoolSecret: [] }, { managementSecret: [] }],
} as const satisfies Record<string, Security>;
export const uploadSecurity: Security = [{ uploadToken: [] }];
export const noSecurity: Security = [];

const limited = 'More than 1200 requests in this minute. Wait and try again.';
const otherKind = 'The token is of another kind (management); this address takes school tokens.';

/** What is compressed otherwise cannot be read, of whatever kind it is. */
export const encoded = 'Content-Encoding "compress" is not taken: send the body as it is, or as gzip or deflate or br or identity.';
const malformed = 'The query is not valid percent-encoded UTF-8 at "x=%zz".';

export const tokenRefusals: Refusals = {
  invalid_request: malformed,
  missing_token: 'There is no Authorization header. Send "Authorization: Idaas" and a token from /api/oauth/GetToken.',
  invalid_token: otherKind,
  too_many_requests: limited,
  unavailable: awayMessage,
};
export const schoolRefusals: Refusals = { ...tokenRefusals, forbidden: 'The authorisation is paused: the school has to resume or renew it.' };
export const uploadRefusals: Refusals = {
  invalid_request: malformed,
  missing_token: 'There is no Authorization header. Send "Authorization: Bearer" and the school\'s upload token.',
  invalid_token: 'The upload token is not known; it may have been replaced or removed.',
  forbidden: 'The upload token is for 9990001, not for 9990002.',
  too_many_requests: limited,
  unavailable: awayMessage,
};
/** Where a secret is exchanged, wrong tries are counted. */
export const secretRefusals: Refusals = {
  invalid_request: '"relyingParty" is missing. Send estab, relyingParty and password, as JSON or as a form.',
  invalid_client: 'The relying party is not known to this establishment, or the secret is wrong.',
  forbidden: 'The authorisation is paused: the school has to resume or renew it.',
  request_timeout: bodyLateMessage,
  too_large: 'The body is too large.',
  unsupported_media_type: encoded,
  too_many_requests: 'Too many wrong tries: 30 in a minute. Wait and try again.',
  unavailable: awayMessage,
};
/** Anybody may ask. */
export const openRefusals: Refusals = { invalid_request: malformed, unavailable: awayMessage };
/** Where a body is read. */
export const bodyRefusals: Refusals = {
  request_timeout: bodyLateMessage,
  too_large: 'The body is too large.',
  unsupported_media_type: 'The Content-Type is not one that this address takes.',
};
