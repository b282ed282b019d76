// In charge of describing registrations for database events, for the documentation.
import type { RouteShorthandOptions } from 'fastify';
import { Type } from '../http/json-schema.ts';
import { bodyRefusals, schoolRefusals, schoolSecurity } from '../access/describe-caller.ts';
import { answerOf, describeRoute, envelopeFields, exactly, instant, listOf, oneOf, text, type RouteWords } from '../http/describe-route.ts';
import { databases } from './databases.ts';
import { pausedWords } from './webhooks.ts';

const databaseNames = Object.keys(databases);
const exampleUrl = 'https://app.example/changed?school=9990001';
const methods = ['GET', 'POST'] as const;

/** What is known by name in the documents. */
export const webhookSchemas = [
  {
    $id: 'Webhooks',
    ...exactly({
      Webhook: listOf(
        exactly({
          Id: text('The registration.'),
          Estab: text('The school.'),
          RelyingParty: text('The application.'),
          DatabaseName: oneOf(databaseNames, 'Whose changes are told.'),
          Url: text('What is called, its query exactly as registered.'),
          Method: oneOf(methods, 'How it is called.'),
          Created: instant('When it was first made.'),
          Updated: instant('When it was last replaced.'),
        }),
        'The registrations; empty after a removal.',
      ),
      ...envelopeFields,
    }),
  },
];

export const begunSchema = (description: string) =>
  exactly({ DeliveryId: text('The delivery, to be looked at under Deliveries.'), ...envelopeFields }, { description });

const url = text('The address to call: http or https, printable ASCII, to a public address. It may carry parameters of its own.', {
  format: 'uri',
  examples: [exampleUrl],
});
const databaseName = oneOf(databaseNames, 'The database whose changes are to be told; in any case.', { examples: ['SchoolData'] });
const method = oneOf(methods, 'GET, which is usual, or POST with a small JSON body.', { examples: ['GET'] });
const params = Type.Object({ id: text('The Id of the registration.', { examples: ['5f0c9a52-6f1e-4a2b-9f0e-3a4b5c6d7e8f'] }) });

const common = { tag: 'Webhooks', security: schoolSecurity } as const satisfies Partial<RouteWords>;
const registrations = {
  200: answerOf('Webhooks', 'The registration, which replaced an earlier one.'),
  201: answerOf('Webhooks', 'The registration, which is new.'),
};
const refusals = {
  ...schoolRefusals,
  invalid_request: `"DatabaseName" is "Marks"; it must be one of ${databaseNames.join(', ')}.`,
  forbidden: 'The school has not granted a scope that opens Attendance: it needs one of Attendance.',
};
const unknown = 'There is no such registration.';
const remark = 'A name that does not resolve now is accepted, and Message says so.';

export const describeRegister: RouteShorthandOptions = describeRoute({
  ...common,
  operationId: 'registerWebhook',
  summary: 'Register for database events',
  description:
    `There is one registration for each application, school and database: registering again replaces it, and what held the old one back is forgotten.` +
    ` Needs a scope of the database. ${remark} Keys in any case.`,
  body: Type.Object({ url, DatabaseName: databaseName, Method: Type.Optional(method) }, { examples: [{ url: exampleUrl, DatabaseName: 'SchoolData' }] }),
  answers: registrations,
  errors: { ...refusals, ...bodyRefusals },
});

export const describeListWebhooks: RouteShorthandOptions = describeRoute({
  ...common,
  operationId: 'listWebhooks',
  summary: 'List registrations, or register with a GET',
  description:
    `Without parameters it lists the registrations of this application at this school, and Message says which are held back. With url and DatabaseName` +
    ` it registers, as the POST does: percent-encode url as a whole. ${remark}`,
  query: Type.Object({ url: Type.Optional(url), DatabaseName: Type.Optional(databaseName), Method: Type.Optional(method) }),
  answers: { ...registrations, 200: answerOf('Webhooks', 'The registrations, or the one that replaced an earlier one.') },
  errors: refusals,
});

export const describeWebhook: RouteShorthandOptions = describeRoute({
  ...common,
  operationId: 'getWebhook',
  summary: 'One registration',
  description: 'Message says why it is held back, if it is.',
  params,
  answers: { 200: answerOf('Webhooks', 'The registration.') },
  errors: { ...schoolRefusals, not_found: unknown },
});

export const describeRemoveWebhook: RouteShorthandOptions = describeRoute({
  ...common,
  operationId: 'removeWebhook',
  summary: 'Remove a registration',
  description: 'What waits for it is not sent any more.',
  params,
  answers: { 200: answerOf('Webhooks', 'It is gone: an empty list.') },
  errors: { ...schoolRefusals, ...bodyRefusals, not_found: unknown },
});

export const describeTestWebhook: RouteShorthandOptions = describeRoute({
  ...common,
  operationId: 'testWebhook',
  summary: 'Send one event now',
  description:
    'Calls the registered URL once, as a change would, with the header schoolbell-test: true. It is not tried again. A registration that was given up' +
    ' after failures or a 410 is taken up again.',
  params,
  answers: { 202: begunSchema('It is on its way; what became of it stands under Deliveries.') },
  errors: {
    ...schoolRefusals,
    ...bodyRefusals,
    forbidden: refusals.forbidden,
    not_found: unknown,
    conflict: `The target is ${pausedWords}. It can be tested once it is resumed.`,
  },
});
