// In charge of the surfaces of the API, each described in a document of its own: a table of which tags belong to which, of
// the credentials that there are, and of what every document says of itself.
import type { PathItem, SecurityScheme, Tag } from './document.ts';
import { events } from './events.ts';

export type SurfaceName = 'variant-a' | 'variant-b' | 'oneroster-1p2' | 'school-data' | 'management';

export type SurfaceRow = Readonly<{
  /** Of its file: /openapi/<name>.json. */
  name: SurfaceName;
  /** In a word or two, where it stands beside the others. */
  label: string;
  title: string;
  summary: string;
  description: string;
  /** Every operation has one tag, and every tag belongs to one surface. */
  tags: readonly Tag[];
  /** What the service sends, by name. */
  webhooks?: Readonly<Record<string, PathItem>>;
}>;

const common = `Every answer carries \`X-Request-Id\`; name it when you report a problem. Where calls are limited, answers say how many are left
(\`RateLimit-Limit\`, \`RateLimit-Remaining\`, \`RateLimit-Reset\`). A trailing slash is the same address, names in paths may be written in any case, and
ids in paths are percent-encoded. Clients must bear with fields, headers and operations that are added.`;

export const surfaces: readonly SurfaceRow[] = [
  {
    name: 'variant-a',
    label: 'Variant A',
    title: 'Schoolbell: rostering, variant A',
    summary: 'OneRoster 1.1 records of every school that authorises the application',
    description: `Six collections of OneRoster 1.1, read-only, of all schools at once that authorise the application. Obtain a token with the client id and
the client secret, and send it as a bearer token. Errors are plain text. ${common}`,
    tags: [
      { name: 'Variant A: token', description: 'The client id and secret are exchanged for a token.' },
      { name: 'Variant A: records', description: 'Organisations, people, classes, courses, enrolments and academic sessions, as lists and one by one.' },
    ],
  },
  {
    name: 'variant-b',
    label: 'Variant B',
    title: 'Schoolbell: rostering, variant B',
    summary: 'OneRoster 1.1 records of one school',
    description: `All 41 rostering operations of OneRoster 1.1, read-only, of one school. Obtain a token with the relying party, the establishment and the
school secret, and send it as a bearer token. Errors are the standard's status objects. ${common}`,
    tags: [
      { name: 'Variant B: token', description: 'The school secret is exchanged for a token.' },
      { name: 'Variant B: records', description: 'Lists of records, and records one by one.' },
      { name: 'Variant B: what belongs to a record', description: 'Classes of a student, students of a class, terms of a school, and the like.' },
      { name: 'Variant B: demographics', description: 'Birth dates and other details, which a school grants apart.' },
    ],
  },
  {
    name: 'oneroster-1p2',
    label: 'OneRoster 1.2',
    title: 'Schoolbell: rostering, OneRoster 1.2',
    summary: 'OneRoster 1.2 records of one school, or of every school that authorises the application',
    description: `All 41 rostering operations of OneRoster 1.2, read-only, of the same rosters that the variants give as 1.1, under the same ids. Obtain a
token with the credentials of either variant, and send it as a bearer token. Errors are the standard's status object. What the standard's own discovery
asks for is served at \`/ims/oneroster/rostering/v1p2/discovery/onerosterv1p2rostersservice_openapi3_v1p0.json\`. ${common}`,
    tags: [
      { name: 'OneRoster 1.2: token', description: 'The school secret, or the client id and secret, are exchanged for a token.' },
      { name: 'OneRoster 1.2: records', description: 'Lists of records, and records one by one.' },
      { name: 'OneRoster 1.2: what belongs to a record', description: 'Classes of a student, students of a class, terms of a school, and the like.' },
      { name: 'OneRoster 1.2: demographics', description: 'Birth dates and other details, which a school grants apart.' },
    ],
  },
  {
    name: 'school-data',
    label: 'School data and identity',
    title: 'Schoolbell: school data, notifications and identity',
    summary: 'Rows of one school, attendance and its writeback, database events, logins and single sign-on',
    description: `Data of one school as plain rows, attendance marks both ways, events when data changes, logins, and OpenID Connect. Obtain a school token
from \`/api/oauth/GetToken\`. Every answer ends in the four fields \`Message\`, \`ExceptionType\`, \`ExceptionMessage\` and \`InnerException\`, all null
when there is nothing to say. ${common}`,
    tags: [
      { name: 'Tokens', description: 'A school or management secret is exchanged for a token.' },
      { name: 'School data', description: 'Rows of the school: people, groups, calendar, counts, and how current they are.' },
      { name: 'Attendance', description: 'Marks, their codes, and writing marks back to the school.' },
      { name: 'Webhooks', description: 'Registering for database events: which address is called when which data changes; and everything that is sent.' },
      { name: 'Identity', description: 'Logins of students and staff, and QR codes.' },
      { name: 'Single sign-on', description: 'OpenID Connect: people sign in with the login of their school.' },
    ],
    webhooks: events,
  },
  {
    name: 'management',
    label: 'Management',
    title: 'Schoolbell: management',
    summary: "An application's own schools and deliveries, uploads by a school's export job, keys and health",
    description: `What an application does for itself rather than at one school, what a school's export job sends, and what watches the service. ${common}`,
    tags: [
      { name: 'Schools', description: "Inviting schools, and the application's own schools with their state." },
      { name: 'Deliveries', description: 'What was sent to the application, every attempt, and sending it again.' },
      { name: 'Sandbox', description: 'With DEMO=on, an application of the demo rehearses what goes wrong: faults on purpose, and things that happen.' },
      { name: 'Uploads', description: "A school's export job sends its roster as a package, and reads what became of it." },
      { name: 'Keys', description: 'The keys that verify tokens.' },
      { name: 'Health', description: 'Whether the service lives and can work.' },
    ],
  },
];

const narrowing = 'It lasts `expires_in` seconds; use it until then, and obtain a new one when it is refused.';

/** Every kind of credential. A document has those that its operations name. */
export const securitySchemes = {
  variantAClient: {
    type: 'http',
    scheme: 'basic',
    description: "User name: the application's client id. Password: its client secret (`sb_client_…`).",
  },
  variantAToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: `A token from \`POST /api/ims/oneroster/v1p1/token\`. It opens every school that authorises the application. ${narrowing}`,
  },
  variantBClient: {
    type: 'http',
    scheme: 'basic',
    description:
      'User name: `rp|estab`, the relying party and the establishment with a pipe between them. Password: the school secret (`sb_school_…`), ' +
      'which the application received when the school approved it.',
  },
  variantBToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: `A token from \`POST /ims/oneroster/v1p1/auth/token\`. It opens one school. ${narrowing}`,
  },
  oneRoster12Token: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: `A token from \`POST /ims/oneroster/rostering/v1p2/token\`. It opens what the credentials open that it was obtained with. ${narrowing}`,
  },
  schoolToken: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description:
      '`Idaas` (or `Bearer`), a blank, and a school token: the `token` that `POST /api/oauth/GetToken` answers for `estab`, `relyingParty` and the ' +
      'school secret as `password`. It opens that school for 24 hours.',
  },
  managementToken: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description:
      '`Idaas` (or `Bearer`), a blank, and a management token: the `token` that `POST /api/oauth/GetToken` answers for `relyingParty` and the ' +
      'management secret (`sb_mgmt_…`) as `password`, without `estab`. It speaks for the application itself, for 24 hours.',
  },
  schoolSecret: {
    type: 'http',
    scheme: 'basic',
    description: 'For one-line scripts, in place of a school token. User name: `rp|estab`. Password: the school secret (`sb_school_…`).',
  },
  managementSecret: {
    type: 'http',
    scheme: 'basic',
    description: 'For one-line scripts, in place of a management token. User name: the relying party. Password: the management secret (`sb_mgmt_…`).',
  },
  uploadToken: {
    type: 'http',
    scheme: 'bearer',
    description: "The school's upload token (`sb_upload_…`), which is made on the page of the school or by the operator. It opens these addresses alone.",
  },
  signInClient: {
    type: 'http',
    scheme: 'basic',
    description: "User name: the application's client id. Password: its client secret (`sb_client_…`).",
  },
  signInToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'The `access_token` that the token endpoint of single sign-on answered when a person signed in.',
  },
  signIn: {
    type: 'openIdConnect',
    openIdConnectUrl: '/oidc/.well-known/openid-configuration',
    description: 'The authorisation code flow with PKCE, over a redirect URI that is registered for the application.',
  },
} as const satisfies Record<string, SecurityScheme>;

export const pathOf = (name: SurfaceName): string => `/openapi/${name}.json`;
