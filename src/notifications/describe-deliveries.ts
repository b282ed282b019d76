// In charge of describing, for the documentation, what an application sees of what was sent to it.
import type { RouteShorthandOptions } from 'fastify';
import { Type } from '../http/json-schema.ts';
import { applicationSecurity, bodyRefusals, schoolRefusals } from '../access/describe-caller.ts';
import { paginationSchema } from '../http/describe-pages.ts';
import { answerOf, describeRoute, envelopeFields, exactly, instant, listOf, oneOf, orNull, text, whole } from '../http/describe-route.ts';
import { deliveryStates } from './deliveries.ts';
import { begunSchema } from './describe-webhooks.ts';

const kinds = ['authentication', 'availability', 'writeback', 'database', 'test'];

const common = {
  Id: text('The delivery; receivers see it as webhook-id.'),
  Kind: text(`What happened: ${kinds.join(', ')}.`),
  Estab: text('The school.'),
  WebhookId: orNull(text('The registration that it is for.')),
  DatabaseName: orNull(text('The database of that registration.')),
  Method: orNull(text('How the URL is called.')),
  Url: orNull(text('What is called.')),
  State: oneOf(deliveryStates, 'superseded: a newer event took its place. cancelled: nobody is to have it any more.'),
  Created: instant('When it happened.'),
  NextAttempt: orNull(instant('When it is tried next; null where it is not, or not until its target is resumed.')),
  Settled: orNull(instant('When it ended.')),
  LastStatus: orNull(whole('What the receiver last answered.')),
  LastError: orNull(text('What the last attempt failed of.')),
  TargetState: oneOf(['ok', 'failing', 'paused', 'disabled'], 'How the receiver stands. disabled: it was given up, or answered 410.'),
  TargetMessage: orNull(text('The same in words; null when it is ok.')),
};
const attempt = exactly({
  At: instant('When it was made.'),
  Status: orNull(whole('What the receiver answered; null where nothing came.')),
  Error: orNull(text('Why it failed.')),
  Address: orNull(text('The address that was called.')),
  Milliseconds: orNull(whole('How long it took.')),
  ResponseHeaders: Type.Unsafe({
    type: ['object', 'null'],
    additionalProperties: { type: 'string' },
    description: 'Headers of the answer, without what may be a secret; null where the address is not public.',
  }),
  Response: orNull(text('The beginning of the answer.')),
});

/** What is known by name in the documents. */
export const deliverySchemas = [
  {
    $id: 'Deliveries',
    ...exactly({
      Deliveries: listOf(exactly({ ...common, Attempts: whole('How often it was tried.') }), 'Newest first.'),
      __pagination__: listOf(paginationSchema, 'One entry. RowCount is counted to 10,000 at most.'),
      ...envelopeFields,
    }),
  },
  {
    $id: 'DeliveryWithAttempts',
    ...exactly({ Deliveries: listOf(exactly({ ...common, Attempts: listOf(attempt, 'The latest hundred, in their order.') }), 'The one.'), ...envelopeFields }),
  },
];

const params = Type.Object({ id: text('The Id of the delivery, which is the webhook-id.', { examples: ['msg_JIX-yeKfnQoQrdSixlW_bXmV'] }) });
const security = applicationSecurity;
const whose = 'With a school token those of that school, with a management token all of the application.';
const unknown = 'There is no such delivery; what was settled is kept for 30 days at most.';

export const describeDeliveries: RouteShorthandOptions = describeRoute({
  tag: 'Deliveries',
  operationId: 'listDeliveries',
  summary: 'What was sent to the application',
  description: `Every call to its URLs, newest first. ${whose} What was settled is kept for 30 days at most.`,
  security,
  query: Type.Object({
    state: Type.Optional(oneOf(deliveryStates, 'Only those in this state.', { examples: ['failed'] })),
    since: Type.Optional(text('Only those made at or after this time.', { format: 'date-time', examples: ['2026-11-12T00:00:00Z'] })),
    until: Type.Optional(text('Only those made before this time.', { format: 'date-time', examples: ['2026-11-13T00:00:00Z'] })),
    page: Type.Optional(whole('The number of the page, from 1; no further than 10,000 deliveries.', { minimum: 1, examples: [1] })),
    pageSize: Type.Optional(whole('How many a page has; 100 unless given.', { minimum: 1, maximum: 1000, examples: [10] })),
  }),
  answers: { 200: answerOf('Deliveries', 'A page of them.') },
  errors: { ...schoolRefusals, invalid_request: `state: "lost" is none of ${deliveryStates.join(', ')}.` },
});

export const describeDelivery: RouteShorthandOptions = describeRoute({
  tag: 'Deliveries',
  operationId: 'getDelivery',
  summary: 'One delivery with every attempt',
  description: `What each attempt was answered, as far as it may be shown. ${whose}`,
  security,
  params,
  answers: { 200: answerOf('DeliveryWithAttempts', 'The delivery.') },
  errors: { ...schoolRefusals, not_found: unknown },
});

export const describeReplay: RouteShorthandOptions = describeRoute({
  tag: 'Deliveries',
  operationId: 'replayDelivery',
  summary: 'Send a delivery again',
  description:
    'The same bytes under the same webhook-id, with a new signature. A receiver that had been given up is tried again. Refused where nobody may have it' +
    ' any more, and where the school secret in it was erased after it had arrived: then the school has to approve again.',
  security,
  params,
  answers: { 202: begunSchema('It is on its way.') },
  errors: {
    ...schoolRefusals,
    ...bodyRefusals,
    not_found: 'There is no delivery none; what was settled is kept for 30 days at most.',
    conflict: 'A newer event for the same registration is waiting already; it will be sent.',
  },
});
