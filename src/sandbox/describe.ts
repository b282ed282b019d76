// In charge of describing the sandbox for the documentation, out of the table of what it can do.
import type { RouteShorthandOptions } from 'fastify';
import { Type, type TSchema } from '../http/json-schema.ts';
import { bodyRefusals, managementSecurity, tokenRefusals } from '../access/describe-caller.ts';
import { misModes } from '../collection/connectors/demo/demo-connector.ts';
import { happeningKinds } from '../collection/connectors/demo/happenings.ts';
import { answerOf, describeRoute, envelopeFields, exactly, flag, instant, listOf, oneOf, orNull, text, whole, type Refusals } from '../http/describe-route.ts';
import { eventFaults } from '../notifications/event-faults.ts';
import { controls, type Control } from './controls.ts';
import { pascal, type Field } from './field.ts';
import { notDemo } from './steer.ts';

const until = instant('When it ends by itself.');
const inForce = (fields: Record<string, TSchema>, description: string) =>
  Type.Unsafe({ anyOf: [exactly({ ...fields, Until: until }), { type: 'null' }], description: `${description} Null: as usual.` });

const school = exactly({
  Estab: text('The establishment.'),
  Mis: oneOf(misModes, 'How its MIS behaves.'),
  MisUntil: orNull(instant('When its MIS is normal again by itself.')),
  Clock: instant('What its clock says.'),
  AheadSeconds: whole('How far that is ahead of the clock of the service.'),
  Happenings: listOf(
    exactly({
      Kind: oneOf(happeningKinds, 'What happened.'),
      At: instant('When, by the clock of the school.'),
      Of: text('Whom it is about: the sourcedId of the pupil or class.'),
    }),
    'What happened in it because somebody asked for it, oldest first.',
  ),
  Collecting: flag('Whether its roster is being collected, so that what was asked for is yet to be seen.'),
  Held: Type.Unsafe({
    anyOf: [exactly({ Import: text('The id of the import.'), At: instant('Since when.'), Message: text('Why, and what to do.') }), { type: 'null' }],
    description: 'An import that is held, since too much of the roster would go: nothing of it was taken. Null: none is.',
  }),
});

const standing = exactly({
  Application: text('The relying party.'),
  Events: inForce({ Mode: oneOf(eventFaults, 'What happens to calls.'), Seconds: whole('How late they are, if delayed.') }, 'What happens to calls to it.'),
  Tokens: inForce({ Seconds: whole('How long a token lives.') }, 'How long its new tokens live.'),
  Answers: inForce(
    {
      Status: oneOf(['429', '503'], 'What requests are answered.'),
      Remaining: orNull(whole('How many more requests; null: all of that time.')),
      RetryAfter: whole('What Retry-After says.'),
    },
    'What its requests are answered.',
  ),
  Schools: listOf(school, 'The demo schools that authorise it.'),
});

/** What is known by name in the documents. */
export const sandboxSchemas = [{ $id: 'Sandbox', ...exactly({ Sandbox: standing, ...envelopeFields }) }];
const answer = { 200: answerOf('Sandbox', 'What is in force now.') };
const refusals: Refusals = {
  ...tokenRefusals,
  invalid_token: 'The token is of another kind (school); this address takes management tokens.',
  forbidden: `reader.example ${notDemo}`,
};
const common = { tag: 'Sandbox', security: managementSecurity };

export const describeShow: RouteShorthandOptions = describeRoute({
  ...common,
  operationId: 'getSandbox',
  summary: 'What the sandbox does now',
  description: 'Only with DEMO=on, and only for applications of the demo. What is done to the application on purpose, and how its demo schools stand.',
  answers: answer,
  errors: refusals,
});

/** How an operation is called: rehearseClassSplit. */
const operationId = (name: string) => `rehearse${pascal(name)}`;

export function describeControl({ name, title, help, more, fields, example, of }: Control): RouteShorthandOptions {
  const body = Type.Object(Object.fromEntries(fields.map((field) => [pascal(field.name), describeField(field)])), { examples: [example] });
  const first = fields[0];
  return describeRoute({
    ...common,
    operationId: operationId(name),
    summary: `Sandbox: ${title.toLowerCase().replace(/^mis$/, 'the MIS')}`,
    description: `${help} ${more} Only with DEMO=on, and only for applications of the demo. Keys in any case; one that is not among these is refused.`,
    ...(first ? { body } : {}),
    answers: answer,
    errors: {
      ...refusals,
      ...bodyRefusals,
      ...(first ? { invalid_request: `${pascal(first.name)} is missing.` } : {}),
      ...(of === 'schools' ? { conflict: 'no demo school authorises reader.demo at present, so that there is none to steer' } : {}),
    },
  });
}

function describeField(field: Field): TSchema {
  const words = field.help.slice(0, 1).toUpperCase() + field.help.slice(1);
  const schema = schemaOf(field, `${words}.`);
  return field.required ? schema : Type.Optional(schema);
}

function schemaOf(field: Field, description: string): TSchema {
  if (field.type === 'choice') return oneOf(field.choices, description);
  if (field.type === 'whole') return whole(description, { minimum: field.least, maximum: field.most });
  return field.type === 'switch' ? flag(description) : text(description, { examples: [field.example] });
}

export const described = controls.map((control) => ({ control, route: describeControl(control) }));
