// In charge of describing what the service sends: the four kinds of event, how each call is signed, what a receiver answers and
// what follows from that. What is shown as an example has arrived at a receiver (see events.test.ts).
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type, type TSchema } from '../http/json-schema.ts';
import { exactly, oneOf, text } from '../http/describe-route.ts';
import { databases } from '../notifications/databases.ts';
import type { FormField } from '../notifications/test-callback.ts';
import { retryDelays } from '../outbox/schedule.ts';
import { version } from '../version.ts';
import { listOperations, type Media, type OperationObject, type Parameter, type PathItem, type Response, type Schema } from './document.ts';

export const eventExamplesFile = 'openapi/examples/events.json';

/** By the operation's id. */
export type EventExamples = Readonly<Record<string, unknown>>;

const root = join(import.meta.dirname, '../..');
export const readEventExamples = (): EventExamples => JSON.parse(readFileSync(join(root, eventExamplesFile), 'utf8')) as EventExamples;

const headers: readonly Parameter[] = [
  header('webhook-id', 'The delivery. The same over all attempts and replays: whoever has seen it has had the event.', 'msg_JIX-yeKfnQoQrdSixlW_bXmV'),
  header('webhook-timestamp', 'When this attempt was signed, in seconds since 1970. Refuse what is older than five minutes.', '1794866285'),
  header(
    'webhook-signature',
    "Standard Webhooks: v1, and the HMAC-SHA256, in base64, over id, timestamp and the exact body, joined by dots, with the application's signing secret" +
      ' (whsec_…). Several, with a blank between them, while the secret is being changed.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
  header('user-agent', 'Schoolbell and its version.', `Schoolbell/${version}`),
];
const testHeader = header('schoolbell-test', 'true where somebody sent this to try the address; nothing has changed.', 'true', false);

function header(name: string, description: string, example: string, required = true): Parameter {
  return { name, in: 'header', required, description, schema: { type: 'string' }, example };
}

const inWords = (seconds: number) => (seconds < 60 ? `${seconds} s` : seconds < 3600 ? `${seconds / 60} min` : `${seconds / 3600} h`);
const attempts = `after ${retryDelays.map(inWords).join(', ')}, each give or take a fifth`;
const answers = (gone: string): Record<string, Response> => ({
  '2XX': { description: 'Taken. The body is not looked at. Answer within 20 s and do the work afterwards.' },
  '3XX': { description: 'A failure: redirects are never followed.' },
  '410': { description: `Not wanted any more. ${gone}` },
  default: { description: `A failure. It is tried again ${attempts}; Retry-After is honoured up to 24 h. After that it can be replayed.` },
});
const targetEnds = 'Nothing more is sent to this address until it is tested, registered again or replayed.';
const oneEnds = 'This delivery ends; others to the same origin go on.';

/** schoolSecret and status: one or the other. */
const formFields: Readonly<Record<FormField | 'schoolSecret' | 'installcomplete' | 'status', TSchema>> = {
  schoolSecret: Type.Optional(text('The secret for this school, sb_school_…: keep it, it is not shown again. Absent where status is there.')),
  schoolId: text('The establishment.'),
  schoolEmail: text('The e-mail address of the school.'),
  schoolName: text('The name of the school.'),
  templateScopes: text('What the application asks for: scope names, separated by commas.'),
  scopes: text('What the school grants.'),
  thirdParty: oneOf(['Schoolbell', ''], 'Schoolbell where the data of the school is there already, else empty.'),
  partnerId: text('The application.'),
  installcomplete: oneOf(['true', 'false'], 'true once every database was collected; false when the school has only approved.'),
  status: Type.Optional(text('Only for an application that wants to hear of every decision: how it stands now, such as Paused, Live or Revoked.')),
};
const form = exactly(formFields, { description: 'As application/x-www-form-urlencoded.' });
const change = exactly({ Estab: text('The school.'), DatabaseName: oneOf(Object.keys(databases), 'What has changed.') });
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

type Event = Readonly<{ id: string; summary: string; description: string; gone: string; parameters?: readonly Parameter[]; body?: Record<string, Media> }>;

function describeEvent({ id, summary, description, gone, parameters = [], body }: Event): OperationObject {
  return {
    operationId: id,
    summary,
    description,
    tags: ['Webhooks'],
    parameters: [...headers, ...parameters],
    ...(body ? { requestBody: { required: true, content: body } } : {}),
    responses: answers(gone),
    security: [],
  };
}

const bodyOf = (type: string, schema: TSchema | Schema): Record<string, Media> => ({ [type]: { schema: schema as Schema } });
const json = (schema: TSchema | Schema) => bodyOf('application/json', schema);
const query = (name: string, description: string, example: string): Parameter => ({
  name, in: 'query', required: true, description, schema: { type: 'string' }, example,
});
const changed = 'Data of a registered database has changed: request it. A burst of changes is one event, and where nothing changed there is none.';

export const events: Readonly<Record<string, PathItem>> = {
  authentication: {
    post: describeEvent({
      id: 'onAuthentication',
      summary: 'A school has decided',
      description:
        "Sent to the application's callback URL when a school approves, and again, with installcomplete=true, when its data is there; once where it is" +
        ' there already. An application with state events on is also told of pausing, resuming, narrowing, declining and revoking: with status, and' +
        ' without a secret. A test of the callback URL has status Test, empty fields for the school, and the header schoolbell-test: true.',
      gone: targetEnds,
      body: bodyOf('application/x-www-form-urlencoded', form),
    }),
  },
  dataAvailable: {
    post: describeEvent({
      id: 'onDataAvailable',
      summary: 'Data that was asked for with a callbackUrl is ready, or is not',
      description:
        'Exactly one for each request with a callbackUrl: when every database that it needs is OK, at once where something is wrong, and after 10 minutes' +
        ' at the latest, with TimedOut. RequestId is that of the 202. Then request the data without callbackUrl.',
      gone: oneEnds,
      body: json(ref('DBStatus')),
    }),
  },
  writebackEnded: {
    post: describeEvent({
      id: 'onWritebackEnded',
      summary: 'Marks were written, or were not',
      description: 'Sent to each callback of a writeback when it has ended, also when its marks were refused at once.',
      gone: oneEnds,
      parameters: [
        query('trackingid', 'The writeback; it stands behind the query of the callback.', '6320e860-5f2d-47dc-867e-58ac01badd4e'),
        query('completed', 'True or False: whether the marks were written.', 'True'),
      ],
      body: json(ref('WritebackOutcome')),
    }),
  },
  databaseChanged: {
    get: describeEvent({
      id: 'onDatabaseChanged',
      summary: 'A database has changed',
      description: `${changed} The registered URL is called with its query exactly as registered, and nothing else.`,
      gone: targetEnds,
      parameters: [testHeader],
    }),
    post: describeEvent({
      id: 'onDatabaseChangedByPost',
      summary: 'A database has changed, for who registered with Method POST',
      description: changed,
      gone: targetEnds,
      parameters: [testHeader],
      body: json(change),
    }),
  },
};

/** Beside each body the example that has arrived. */
export function addEventExamples(described: Readonly<Record<string, PathItem>>, examples: EventExamples): void {
  for (const { operation } of listOperations(described)) {
    const [media] = Object.values(operation.requestBody?.content ?? {});
    if (media) media.example = examples[operation.operationId ?? ''];
  }
}
