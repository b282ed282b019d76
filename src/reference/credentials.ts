// In charge of how a program comes to what it presents: for each scheme that an operation is secured with, where a token is had, with which
// credentials, and how it is shown. Secrets are names of variables; the words are for people.
import { Env, type Text, type Value } from './quote.ts';

/** What a program is given by whoever runs it. */
export const variables = {
  CLIENT_ID: 'the client id of the application',
  CLIENT_SECRET: 'its client secret, sb_client_…',
  RP: 'the application’s identifier, the same as partnerId',
  ESTAB: 'the school’s establishment number',
  SCHOOL_SECRET: 'the secret that came with the authentication event of the school, sb_school_…',
  MANAGEMENT_SECRET: 'the application’s management secret, sb_mgmt_…',
  UPLOAD_TOKEN: 'the school’s upload token, sb_upload_…',
  SIGNING_SECRET: 'the application’s signing secret, whsec_…',
  ACCESS_TOKEN: 'the access token of somebody who has signed in',
} as const;
export type Variable = keyof typeof variables;

const env = (name: Variable) => new Env(name);

export type Basic = Readonly<{ user: Text; password: Text }>;
export type Obtained = Readonly<{ path: string; field: string } & ({ basic: Basic } | { json: Readonly<Record<string, Value>> })>;

export type Credential = Readonly<{
  /** What it is called by people. */
  name: string;
  /** How it is had, and how it is presented, in a sentence each. */
  obtained: string;
  presented: string;
  opens: string;
  uses: { basic: Basic } | { scheme: 'Bearer' | 'Idaas'; token: Env | Obtained };
}>;

const tokenPaths = {
  variantA: '/api/ims/oneroster/v1p1/token',
  variantB: '/ims/oneroster/v1p1/auth/token',
  oneRoster12: '/ims/oneroster/rostering/v1p2/token',
  sts: '/api/oauth/GetToken',
} as const;
const [clientCredentials, schoolCredentials]: readonly [Basic, Basic] = [
  { user: [env('CLIENT_ID')], password: [env('CLIENT_SECRET')] },
  { user: [env('RP'), '|', env('ESTAB')], password: [env('SCHOOL_SECRET')] },
];

export const credentials = {
  variantAToken: {
    name: 'Rostering token, variant A',
    obtained: `POST ${tokenPaths.variantA} with Basic clientId:clientSecret`,
    presented: 'Authorization: Bearer',
    opens: 'every school that authorises the application; one hour',
    uses: { scheme: 'Bearer', token: { path: tokenPaths.variantA, field: 'access_token', basic: clientCredentials } },
  },
  variantBToken: {
    name: 'Rostering token, variant B',
    obtained: `POST ${tokenPaths.variantB} with Basic rp|estab:schoolSecret`,
    presented: 'Authorization: Bearer',
    opens: 'that school; one hour',
    uses: { scheme: 'Bearer', token: { path: tokenPaths.variantB, field: 'access_token', basic: schoolCredentials } },
  },
  oneRoster12Token: {
    name: 'Rostering token, OneRoster 1.2',
    obtained: `POST ${tokenPaths.oneRoster12} with the credentials of either variant, Basic or in the form`,
    presented: 'Authorization: Bearer',
    opens: 'what those credentials open, in 1.2; one hour',
    uses: { scheme: 'Bearer', token: { path: tokenPaths.oneRoster12, field: 'access_token', basic: schoolCredentials } },
  },
  schoolToken: {
    name: 'School token',
    obtained: `POST ${tokenPaths.sts} with estab, relyingParty and password, which is the school secret`,
    presented: 'Authorization: Idaas, or Bearer',
    opens: 'school data, writeback, webhooks and identity of that school; 24 hours',
    uses: {
      scheme: 'Idaas',
      token: { path: tokenPaths.sts, field: 'token', json: { estab: env('ESTAB'), relyingParty: env('RP'), password: env('SCHOOL_SECRET') } },
    },
  },
  managementToken: {
    name: 'Management token',
    obtained: `POST ${tokenPaths.sts} with relyingParty and password, which is the management secret, and without estab`,
    presented: 'Authorization: Idaas, or Bearer',
    opens: 'invitations, the application’s own schools and deliveries, QR codes, CreateUser; 24 hours',
    uses: { scheme: 'Idaas', token: { path: tokenPaths.sts, field: 'token', json: { relyingParty: env('RP'), password: env('MANAGEMENT_SECRET') } } },
  },
  uploadToken: {
    name: 'Upload token',
    obtained: 'made on the school’s page, or by the operator',
    presented: 'Authorization: Bearer',
    opens: 'uploads of that school’s roster, and nothing else; until it is replaced',
    uses: { scheme: 'Bearer', token: env('UPLOAD_TOKEN') },
  },
  variantAClient: {
    name: 'Client id and secret',
    obtained: 'given by the operator',
    presented: 'Authorization: Basic clientId:clientSecret',
    opens: 'the token of variant A, and of OneRoster 1.2 for all schools',
    uses: { basic: clientCredentials },
  },
  variantBClient: {
    name: 'School secret, for a token',
    obtained: 'comes with the authentication event when the school approves',
    presented: 'Authorization: Basic rp|estab:schoolSecret',
    opens: 'the token of variant B, and of OneRoster 1.2 for that school',
    uses: { basic: schoolCredentials },
  },
  schoolSecret: {
    name: 'School secret, without a token',
    obtained: 'comes with the authentication event when the school approves',
    presented: 'Authorization: Basic rp|estab:schoolSecret',
    opens: 'identity operations of that school, for scripts of one line',
    uses: { basic: schoolCredentials },
  },
  managementSecret: {
    name: 'Management secret, without a token',
    obtained: 'given by the operator',
    presented: 'Authorization: Basic rp:managementSecret',
    opens: 'GenerateQRCode and CreateUser, for scripts of one line',
    uses: { basic: { user: [env('RP')], password: [env('MANAGEMENT_SECRET')] } },
  },
  signInClient: {
    name: 'Client id and secret, for single sign-on',
    obtained: 'given by the operator',
    presented: 'Authorization: Basic clientId:clientSecret',
    opens: 'the tokens of a person who has signed in',
    uses: { basic: clientCredentials },
  },
  signInToken: {
    name: 'Access token of a person',
    obtained: 'by signing in with OpenID Connect',
    presented: 'Authorization: Bearer',
    opens: 'what that person is known by',
    uses: { scheme: 'Bearer', token: env('ACCESS_TOKEN') },
  },
} as const satisfies Record<string, Credential>;
export type CredentialName = keyof typeof credentials;

export function isCredential(name: string): name is CredentialName {
  return Object.hasOwn(credentials, name);
}
