// In charge of describing attendance writeback for the documentation: what is sent, how it is judged, and what became of it.
import type { RouteShorthandOptions } from 'fastify';
import { Type, type TSchema } from '../http/json-schema.ts';
import { schoolRefusals, schoolSecurity } from '../access/describe-caller.ts';
import { exampleDay, exampleStudent } from '../collection/connectors/demo/named-in-reference.ts';
import { describeRoute, envelopeFields, exactly, instant, listOf, named, oneOf, orNull, text, whole } from '../http/describe-route.ts';
import { commonParameters } from './catalogue.ts';
import { attendanceTag, estabParameter } from './describe-endpoint.ts';
import { faultCodes } from './judge-marks.ts';
import { markFields, mostCallbacks, mostMarks, type MarkField } from './marks-body.ts';
import type { outcomeFields } from './outcome.ts';
import { sessionTypes } from './row-fields.ts';

const given: Readonly<Record<MarkField, TSchema>> = {
  StudentId: text('The Id of Students.', { examples: [exampleStudent] }),
  MarkType: oneOf(['S'], 'S: a session mark.'),
  Date: Type.String({ format: 'date', description: 'The day; the same in every mark of a call, and not in the future.', examples: [exampleDay] }),
  Session: oneOf(sessionTypes, 'Morning or afternoon.'),
  Mark: text('A code that AttendanceCodes has as Writable, valid on that day.', { examples: ['L'] }),
  Mins: Type.Optional(Type.Unsafe({ type: ['integer', 'string'], description: 'Minutes late, 0 to 999.', examples: [12] })),
  Notes: Type.Optional(text('At most 500 characters; Y7 needs them.', { examples: ['Bus was late'] })),
};
const callback = Type.Object({
  Method: Type.Optional(oneOf(['POST'], 'POST, which is also what is taken when it is left out.')),
  Url: Type.String({
    format: 'uri',
    description: 'Where the outcome is posted, with trackingid and completed behind its own query.',
    examples: ['https://app.example/written?school=9990001'],
  }),
});
const body = Type.Object({
  Marks: Type.Array(Type.Object(Object.fromEntries(markFields.map((field) => [field, given[field]]))), {
    minItems: 1,
    maxItems: mostMarks,
    description: 'The marks.',
  }),
  callback: Type.Optional(
    Type.Unsafe({
      anyOf: [Type.Array(callback, { maxItems: mostCallbacks }), callback],
      description: 'Who is told the outcome: an array, or one object. With it the answer is 202 at once.',
    }),
  ),
});

const marksOutcome: Readonly<Record<(typeof outcomeFields)[number], TSchema>> = {
  Index: whole('Its place in Marks, from 0.'),
  StudentId: text('As it was given.'),
  Date: text('As it was given.'),
  Session: text('As it was given.'),
  Mark: orNull(text('The mark; null: the mark is taken away.')),
  PreviousMark: orNull(text('What stood there before.')),
  Result: oneOf(['Pending', 'Written', 'Unchanged', 'Failed'], 'What became of it. Unchanged: it stood there already.'),
  Code: orNull(text('Why it failed, for programs.')),
  Message: orNull(text('Why it failed, for people.')),
};
const outcome = {
  TrackingId: text('The writeback.'),
  Estab: text('The school.'),
  Status: oneOf(['Pending', 'Completed', 'Rejected', 'Failed', 'TimedOut'], 'TimedOut: the MIS could not be reached for an hour.'),
  SubmittedAt: instant('When it was taken.'),
  CompletedAt: orNull(instant('When it ended.')),
  Attempts: whole('How often the MIS was asked.'),
  Total: whole('How many marks there are.'),
  Written: whole('How many were written.'),
  Unchanged: whole('How many stood there already.'),
  Failed: whole('How many were not written.'),
  Message: orNull(text('Why it did not complete.')),
  Marks: listOf(exactly(marksOutcome), 'Each mark.'),
};
const fault = exactly({
  Index: whole('Which mark, from 0.'),
  Field: oneOf([...markFields, 'Marks'], 'Which field; Marks: the mark as a whole.'),
  Code: oneOf(Object.keys(faultCodes), Object.entries(faultCodes).map(([code, words]) => `${code}: ${words}`).join(' ')),
  Message: text('What is wrong and what would be right.'),
  Suggestion: Type.Optional(text('A value that would do.')),
});
const { Code: _, Message: __, ...judged } = marksOutcome;

/** What is known by name in the documents. */
export const marksSchemas = [
  { $id: 'WritebackOutcome', ...exactly(outcome, { description: 'What became of a writeback, as it is posted.' }) },
  { $id: 'WritebackAnswer', ...exactly({ ...envelopeFields, ...outcome }, { description: 'What became of a writeback.' }) },
  {
    $id: 'WritebackTaken',
    ...exactly(
      {
        TrackingId: text('By which its outcome is asked for.'),
        Estab: text('The school.'),
        Status: oneOf(['Pending'], 'It is under way.'),
        Total: whole('How many marks there are.'),
        Path: text('Where the outcome can be read.'),
        ...envelopeFields,
      },
      { description: 'The marks were taken and will be written.' },
    ),
  },
  {
    $id: 'MarksJudged',
    ...exactly(
      {
        Errors: listOf(fault, 'With mode=partial: what would not be written.'),
        Total: whole('How many marks there are.'),
        Valid: whole('How many would be written.'),
        Marks: listOf(exactly({ ...judged, Result: oneOf(['Valid'], 'It would be written.') }), 'Those that would be.'),
        ...envelopeFields,
      },
      { description: 'With validateOnly=true: the marks were judged and nothing was written.' },
    ),
  },
  {
    $id: 'MarksRefused',
    ...exactly(
      {
        Errors: Type.Optional(listOf(fault, 'Every fault of every mark; absent where the request as a whole is wrong.')),
        TrackingId: Type.Optional(text('Where a callback was given: the refusal is posted there and can be read later.')),
        Path: Type.Optional(text('Where it can be read.')),
        ...envelopeFields,
      },
      { description: 'Nothing was written.' },
    ),
  },
];

export function describeMarks(operationId: string): RouteShorthandOptions {
  return describeRoute({
    tag: attendanceTag,
    operationId,
    summary: operationId === 'writeAttendance' ? 'Write attendance marks into the MIS' : 'Write attendance marks, by another path',
    description:
      `Needs the scope WritebackAttendance, and a school whose connector can write. Every mark is judged at once: one fault and nothing is written, unless` +
      ` mode=partial. Without callback the outcome is waited for, 30 s at most, then it is 202. At most ${mostMarks} marks of one day. Keys in any case.`,
    security: schoolSecurity,
    params: Type.Object(estabParameter),
    query: Type.Object({
      mode: Type.Optional(oneOf(['atomic', 'partial'], 'partial: what is right is written although something else is wrong.', { examples: ['atomic'] })),
      callbackUrl: Type.Optional(
        Type.Unsafe<string>({
          ...commonParameters.find(({ name }) => name === 'callbackUrl')?.schema,
          description: 'One more callback: the outcome is posted to this URL as well. Percent-encode it as a whole.',
        }),
      ),
      validateOnly: Type.Optional(Type.Boolean({ description: 'true: judge every mark and write nothing.', examples: [true] })),
    }),
    headers: Type.Object({
      'idempotency-key': Type.Optional(
        text('1 to 255 printable characters. The same key within a day is the same writeback.', { examples: ['register-7a-2026-11-12-am'] }),
      ),
    }),
    body,
    answers: {
      200: Type.Unsafe({ description: 'The outcome; with validateOnly what was judged.', anyOf: [named('WritebackAnswer'), named('MarksJudged')] }),
      202: Type.Unsafe({ ...named('WritebackTaken'), description: 'Taken; the outcome is posted to callback, or can be read at Path.' }),
    },
    streamed: true,
    errors: {
      ...schoolRefusals,
      invalid_request: '"Marks" is missing: an array of marks.',
      forbidden: 'The school has not granted WritebackAttendance, which entering marks needs.',
      conflict: "The school's data comes through oneroster, which cannot write marks.",
      too_large: 'The body is too large.',
      unsupported_media_type: 'The Content-Type is not one that this address takes.',
    },
    errorSchemas: { 400: 'MarksRefused' },
  });
}

export const describeOutcome: RouteShorthandOptions = describeRoute({
  tag: attendanceTag,
  operationId: 'getWriteback',
  summary: 'What became of a writeback',
  description: 'The same as is posted to callback; also where the marks were refused at once. Only those of this application and school.',
  security: schoolSecurity,
  params: Type.Object({ trackingId: text('The TrackingId.', { examples: ['0b9f6f3e-0c2e-4a53-9d2f-6f1c5f3f1a10'] }) }),
  answers: { 200: Type.Unsafe({ ...named('WritebackAnswer'), description: 'The outcome; Pending while it is under way.' }) },
  streamed: true,
  errors: { ...schoolRefusals, not_found: 'There is no such writeback.' },
});
