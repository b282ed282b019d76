// In charge of describing the identity operations for the documentation.
import type { RouteShorthandOptions } from 'fastify';
import { Type, type TObject, type TSchema } from '../http/json-schema.ts';
import { bodyRefusals, identitySecurity, schoolRefusals, tokenRefusals } from '../access/describe-caller.ts';
import { bytes, describeRoute, exactly, flag, jsonOrForm, listOf, named, oneOf, text, type RouteWords } from '../http/describe-route.ts';
import { qrTypes } from './parse-qr-request.ts';
import { presenceTypes } from './presences.ts';
import type { userFields } from './user-records.ts';

export type OperationName = 'ResetPassword' | 'GetUsers' | 'GenerateQRCode' | 'CreateLogin' | 'CreateUser';

const user: Readonly<Record<(typeof userFields)[number], TSchema>> = {
  Id: text('The PresenceId: a person at this school; stable.'),
  DisplayName: text('The full name.'),
  FirstName: text('The given name.'),
  Surname: text('The family name.'),
  LastLoggedIn: text('When they last signed in; empty: never.'),
  UserName: text('The name of their login; empty: they have none.'),
  Roles: text('The role in the roster.'),
  PresenceType: oneOf(presenceTypes, 'Learners, Teach (teachers) or NonTeach (other staff, and those who were added).'),
  WorkEmail: text('The e-mail of the roster; empty where there is none.'),
  Email: text('An e-mail; empty where there is none.'),
};
const camelCase = Object.fromEntries(Object.entries(user).map(([name, schema]) => [name.charAt(0).toLowerCase() + name.slice(1), schema]));
const manualUser = {
  title: text('Such as Dr; empty where there is none.'),
  firstName: text('The given name.'),
  lastName: text('The family name.'),
  displayName: text('First and last name where it was left out.'),
  email: text('Where the registration mail goes.'),
  mobile: text('A mobile number; empty where there is none.'),
};
const { title, displayName, mobile, ...needed } = manualUser;
const given = { ...needed, title: Type.Optional(title), displayName: Type.Optional(displayName), mobile: Type.Optional(mobile) };

/** What is known by name in the documents. */
export const identitySchemas = [
  { $id: 'IdentityUser', ...exactly(user, { description: 'A person at the school who has or can have a login. All fields are strings.' }) },
  { $id: 'IdentityUserCamelCase', ...exactly(camelCase, { description: 'The same, its names in camelCase.' }) },
  { $id: 'ManualUser', ...exactly(manualUser, { description: 'A person whom the roster does not have.' }) },
];

const estab = { examples: ['9990001'] };
const reset = {
  username: text('The name of the login, in any case.', { examples: ['h.dsilva'] }),
  password: text('The new password; left out, one is made. At least 8 characters for learners, 12 for others, and not a common one.'),
  ChangeAtNextLogin: flag('Whether they must choose another at the next sign-in; true unless given where the password is made.', { examples: [true] }),
  UnlockLogin: flag('Whether a login that is locked after wrong tries is opened; false unless given.', { examples: [true] }),
};
const pair = {
  OrgId: text('The establishment; both are given in the query, or both in the body.', estab),
  PresenceId: text('The Id of GetUsers.', { examples: ['p-57efbd6e77f5adfced390fd0'] }),
};
const code = {
  text: text('What the code says: at most 2,000 bytes, 1,200 with a picture.', { examples: ['https://school.example/join?id=7'] }),
  centerImageUrl: text('A public PNG, JPEG or WebP of at most 2 MiB, put into the middle.', { format: 'uri', examples: ['https://school.example/crest.png'] }),
  centerImagePercent: Type.Number({ minimum: 5, maximum: 30, description: 'How wide the picture is, in percent of the code; usually 20.', examples: [20] }),
  QRType: oneOf(qrTypes, 'ArtCode blends the picture into the modules, or draws in a style of its own without one.', { examples: ['QRCode'] }),
};

const optional = (fields: Record<string, TSchema>): TObject =>
  Type.Object(Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, Type.Optional(one)])));
/** In the query or in the body; what stands in both must be equal. */
const eitherPlace = (fields: Record<string, TSchema>) => ({ query: optional(fields), body: jsonOrForm(optional(fields)), bodyIsOptional: true as const });

const school = { security: identitySecurity.school, errors: { ...schoolRefusals, forbidden: 'The school has not granted Identity.' } };
const asImage = {
  description: 'The code, in the form that Accept names first; PNG unless any.',
  content: {
    'image/png': { schema: bytes('The picture.') },
    'image/svg+xml': { schema: text('The picture as SVG.') },
    'application/json': { schema: exactly({ ContentType: text('image/png'), Data: text('The bytes of the picture, in base64.') }) },
  },
};
const management = { security: identitySecurity.management, errors: { ...tokenRefusals, invalid_request: 'text is missing: what the code is to say.' } };
const qrFaults = { unprocessable: 'The picture of "centerImageUrl" cannot be used: it has more than 2 MiB.' };
const qrWords =
  'Draws a QR code and reads it back before it is answered: one that does not read is a 422. Error correction is M, with a picture H. Names in any case.';

type Words = Omit<RouteWords, 'tag' | 'operationId'>;

const words: Readonly<Record<OperationName, Partial<Record<'GET' | 'POST', Words>>>> = {
  ResetPassword: {
    POST: {
      summary: 'Give a login a new password',
      description:
        'For a user of this school who has a login, from the moment it was created. Every session of the login ends. A password in the query stands in the' +
        ' logs of proxies: send it in the body, or have one made.',
      ...school,
      ...eitherPlace(reset),
      answers: {
        200: exactly(
          { Success: flag('Always true.'), Password: text('The password that holds now: the one given, or the one made.') },
          { description: 'It was set.' },
        ),
      },
      errors: {
        ...school.errors,
        ...bodyRefusals,
        invalid_request: 'username is missing.',
        not_found: 'There is no such user with a login at this school.',
        unprocessable: 'The password is among the commonest; choose another.',
      },
    },
  },
  GetUsers: {
    GET: {
      summary: 'Everybody who has or can have a login',
      description: 'Every learner and member of staff of the roster, and those who were added; not contacts, and nobody who has left. One list, without pages.',
      ...school,
      query: optional({ presenceType: oneOf(presenceTypes, 'Only these.', { examples: ['Teach'] }) }),
      answers: { 200: Type.Unsafe({ ...listOf(named('IdentityUser'), 'The people, by surname.') }) },
      errors: { ...school.errors, invalid_request: `presenceType: "Pupils" is not one of ${presenceTypes.join(', ')}.` },
    },
  },
  GenerateQRCode: {
    GET: {
      summary: 'Draw a QR code',
      description: qrWords,
      ...management,
      query: Type.Object({ ...optional(code).properties, text: code.text }),
      answers: { 200: asImage },
      errors: { ...management.errors, ...qrFaults },
    },
    POST: {
      summary: 'Draw a QR code, with what it says in the body',
      description: `${qrWords} What is given in the query must not be given in the body too.`,
      ...management,
      ...eitherPlace(code),
      answers: { 200: asImage },
      errors: { ...management.errors, ...bodyRefusals, ...qrFaults },
    },
  },
  CreateLogin: {
    POST: {
      summary: 'Create a login for somebody of the roster',
      description:
        'Sends a registration mail to the work e-mail of the person, who chooses a password with it. Repeated before that, the mail is sent again. What is' +
        ' sent in the query and in the body must be equal.',
      ...school,
      ...eitherPlace(pair),
      answers: { 200: Type.Unsafe({ ...listOf(named('IdentityUserCamelCase'), 'The person, with the name of the login.') }) },
      errors: {
        ...school.errors,
        ...bodyRefusals,
        invalid_request: 'OrgId and PresenceId are missing: give OrgId and PresenceId.',
        not_found: 'There is no such presence at this school.',
        conflict: 'This person has registered already; use ResetPassword for a new password.',
        unprocessable: 'This person has no work e-mail in the roster, so that no registration mail can be sent.',
      },
    },
  },
  CreateUser: {
    POST: {
      summary: 'Add people whom the roster does not have',
      description:
        'Each gets a login and a registration mail. All are added or none. With a school credential at its own school; with a management credential, and' +
        ' partnerId, where the application is authorised with Identity, or invited where authProcessFlow is true.',
      security: identitySecurity.either,
      body: Type.Object(
        {
          orgId: text('The establishment.', estab),
          partnerId: Type.Optional(text('The identifier of the application; needed with a management credential.', { examples: ['demo.example'] })),
          manualUser: Type.Array(Type.Object(given), { minItems: 1, maxItems: 100, description: 'The people.' }),
          authProcessFlow: Type.Optional(flag('Whether the mail leads into the pending authorisation.', { examples: [false] })),
        },
        { examples: [{ orgId: '9990001', partnerId: 'demo.example', manualUser: [{ firstName: 'Ada', lastName: 'Example', email: 'ada@school.example' }] }] },
      ),
      answers: { 200: exactly({ manualUser: listOf(named('ManualUser'), 'The people as they were added.') }, { description: 'All were added.' }) },
      errors: {
        ...school.errors,
        ...bodyRefusals,
        invalid_request: 'manualUser must be an array of at least one user.',
        not_found: 'There is no such establishment for this caller.',
        conflict: 'ada@school.example is known at this school already; nobody was added.',
      },
    },
  },
};

export function describeOperation(name: OperationName, method: 'GET' | 'POST'): RouteShorthandOptions {
  const described = words[name][method];
  if (!described) throw new Error(`${method} ${name} is not described`);
  const operationId = `${name.charAt(0).toLowerCase()}${name.slice(1)}${method === 'POST' && words[name].GET ? 'FromBody' : ''}`;
  return describeRoute({ tag: 'Identity', operationId, ...described });
}
