// In charge of describing SchoolRegister for the documentation.
import type { RouteShorthandOptions } from 'fastify';
import { Type } from '../http/json-schema.ts';
import { bodyRefusals, managementSecurity, tokenRefusals } from '../access/describe-caller.ts';
import { scopeNames } from '../access/scopes.ts';
import { describeRoute, envelopeFields, exactly, instant, listOf, oneOf, orNull, text, type Refusals } from '../http/describe-route.ts';

const states = ['Proposed', 'Invited', 'Approved', 'Installing', 'Live', 'Paused', 'Declined', 'Revoked', 'Expired'];
const scope = oneOf(scopeNames, 'A scope.');
const code = (description: string) => Type.Optional(Type.Unsafe({ type: ['string', 'number'], description }));

const told = exactly({
  Estab: text('The establishment; empty where none could be read.'),
  LeaCode: Type.Optional(Type.Unsafe({ description: 'As it was given.' })),
  DfesCode: Type.Optional(Type.Unsafe({ description: 'As it was given.' })),
  Status: oneOf(['OK', 'Error'], 'Whether it was done.'),
  Message: text('What was done, or what is wrong.'),
});
const own = exactly({
  Estab: text('The establishment.'),
  SchoolName: text('Its name.'),
  State: oneOf(states, 'How it stands. Proposed: the operator has yet to confirm the school. Installing: approved, and its data is being collected.'),
  Scopes: listOf(scope, 'What is granted now.'),
  ScopesAsked: listOf(scope, 'What was asked for.'),
  Proposed: orNull(instant('When the application named it.')),
  Invited: orNull(instant('When the invitation was sent.')),
  Expires: orNull(instant('Until when the invitation opens; null unless it is open.')),
  Approved: orNull(instant('When the school first approved.')),
  Live: orNull(instant('When its data was there.')),
  Changed: instant('When any of this last changed.'),
});
const answer = { Schools: listOf(told, 'Each school, in the order of the request.'), ...envelopeFields };
const ownAnswer = (description: string) => exactly({ Schools: listOf(own, 'The schools, by establishment.'), ...envelopeFields }, { description });

const body = Type.Object(
  {
    Schools: Type.Array(
      Type.Object({
        Estab: code('The establishment, in England the seven-digit LAESTAB; or give LeaCode and DfesCode.'),
        LeaCode: code('The first three digits, in place of Estab.'),
        DfesCode: code('The last four digits, in place of Estab.'),
        SchoolName: text('The name of the school.'),
        SchoolContactEmail: text('Whom to ask there. An invitation goes to the address of record, which this does not change.'),
        reason: Type.Optional(text('Why you ask: the school reads it.')),
        ScopesToAuthorise: Type.Optional(
          Type.Unsafe({
            anyOf: [{ type: 'array', items: { type: 'string' } }, { type: ['string', 'null'] }],
            description: 'Scopes among those of the application: a list, one string with commas, or null for all.',
          }),
        ),
      }),
      { minItems: 1, maxItems: 100, description: 'The schools; one that is wrong does not keep the others from being invited.' },
    ),
  },
  { examples: [{ Schools: [{ Estab: '9990002', SchoolName: 'Example Primary School', SchoolContactEmail: 'office@school.example' }] }] },
);

const params = Type.Object({ estab: text('The establishment.', { examples: ['9990001'] }) });
const refusals: Refusals = { ...tokenRefusals, invalid_token: 'The token is of another kind (school); this address takes management tokens.' };
const common = { tag: 'Schools', security: managementSecurity };

export const describeInvite: RouteShorthandOptions = describeRoute({
  ...common,
  operationId: 'inviteSchools',
  summary: 'Invite schools',
  description:
    'Asks schools to authorise the application. The link goes to the address of record of each; a school that only the application has named waits for the' +
    ' operator to confirm it. Each is answered for itself: look at Status. Keys in any case.',
  body,
  answers: { 200: exactly(answer, { description: 'What was done about each.' }) },
  errors: { ...refusals, ...bodyRefusals, invalid_request: 'The body must be a JSON object with Schools, an array of at least one.' },
});

export const describeOwnSchools: RouteShorthandOptions = describeRoute({
  ...common,
  operationId: 'listSchools',
  summary: "The application's own schools",
  description: 'Every school that was invited or has approved, with its state, scopes and dates.',
  answers: { 200: ownAnswer('The schools.') },
  errors: refusals,
});

export const describeOwnSchool: RouteShorthandOptions = describeRoute({
  ...common,
  operationId: 'getSchool',
  summary: "One of the application's own schools",
  description: 'As in the list.',
  params,
  answers: { 200: ownAnswer('The school.') },
  errors: { ...refusals, not_found: '9990002 is not a school of this application: it was not invited and has not approved.' },
});

export const describeWithdraw: RouteShorthandOptions = describeRoute({
  ...common,
  operationId: 'withdrawInvitation',
  summary: 'Withdraw an invitation',
  description: 'The link opens nothing any more. What the school has approved is not touched.',
  params,
  answers: { 200: exactly(answer, { description: 'It was withdrawn.' }) },
  errors: { ...refusals, ...bodyRefusals, not_found: 'there is no open invitation of demo.example to 9990002' },
});
