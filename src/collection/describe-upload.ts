// In charge of describing, for the documentation, how a school's export job sends a package and reads what became of it.
import type { RouteShorthandOptions } from 'fastify';
import { Type } from '../http/json-schema.ts';
import { uploadRefusals, uploadSecurity } from '../access/describe-caller.ts';
import { bytes, describeRoute, envelopeFields, exactly, instant, listOf, oneOf, orNull, text, whole } from '../http/describe-route.ts';
import { uploadStates } from './upload-report.ts';

const tag = 'Uploads';
const security = uploadSecurity;
const estab = text('The school that the upload token is of.', { examples: ['9990001'] });
const percent = Type.Number({ description: 'That in percent.' });

const report = exactly({
  Added: whole('Records that are new.'),
  Changed: whole('Records that differ from before.'),
  Removed: whole('Records that have gone.'),
  Unchanged: whole('Records that are as before.'),
  Rejected: whole('Rows that were left out.'),
  Version: whole('The version of the roster.'),
  Shrinkage: listOf(
    exactly({
      Collection: text('Of what.'),
      Role: orNull(text('Of users: of which role.')),
      Active: whole('How many there are.'),
      Removed: whole('How many of them would be deleted or lose that role.'),
      Percent: percent,
    }),
    'The losses for which the import waits for approval, students first. No users or no enrollments in a first import with classes: zeros.',
  ),
  Ignored: listOf(text('A file or column.'), 'Files and columns that were not imported.'),
  Words: listOf(
    exactly({
      File: text('The file.'),
      Column: text('The column.'),
      Word: text('What stands there.'),
      Shown: orNull(text('What readers of 1.1 are shown; null where that is nothing.')),
      Records: whole('How many have it.'),
    }),
    'Those that OneRoster 1.1 does not have.',
  ),
  Problems: listOf(
    exactly({
      File: text('The file.'),
      Line: orNull(whole('The line.')),
      Column: orNull(text('The column.')),
      Value: orNull(text('What stands there.')),
      Rule: text('What would be right.'),
    }),
    'The first thousand.',
  ),
  ProblemsTotal: whole('How many there are in all.'),
}, { description: 'What the import did; null until it has ended.' });

export const describeUpload: RouteShorthandOptions = describeRoute({
  tag,
  operationId: 'uploadRoster',
  summary: "Send the school's roster",
  description:
    'The body is the zip itself (curl -T roster.zip): a OneRoster CSV package, 1.1 or 1.2, of at most 512 MB, whatever its Content-Type says. It is' +
    ' imported behind this: read what became of it at Location. While an older package is held for a person to decide, none is taken.',
  security,
  params: Type.Object({ estab }),
  body: { content: { 'application/zip': { schema: bytes('The package.') } } },
  answers: {
    202: Type.Unsafe({
      ...exactly({ ImportId: text('By which its report is read.'), ...envelopeFields }, { description: 'It was taken, and will be imported.' }),
      headers: { Location: { type: 'string', description: 'Where its report is.' } },
    }),
  },
  errors: {
    ...uploadRefusals,
    invalid_request: 'The body is empty. Send the zip that the MIS has exported: curl -T roster.zip.',
    conflict: 'An earlier upload waits for approval, so this one was not accepted.',
    too_large: 'The file is larger than 512 MB, which is the most that is taken. Nothing was changed.',
    unsupported_media_type: 'The body is not a zip: a zip begins with the letters PK. Send the OneRoster CSV files, with manifest.csv, as one zip.',
  },
});

export const describeUploadReport: RouteShorthandOptions = describeRoute({
  tag,
  operationId: 'getUpload',
  summary: 'What became of a package that was sent',
  description: 'Its state and, once it has ended, its report. Held, Refused and Failed need somebody: Message says whom and how.',
  security,
  params: Type.Object({ estab, importId: text('The ImportId.', { examples: ['3c1d9a40-5b7e-4b9f-9a55-6e0d1c2b3a4f'] }) }),
  answers: {
    200: exactly(
      {
        ImportId: text('The package.'),
        Estab: text('The school.'),
        State: oneOf(uploadStates, 'Replaced: a newer one came before it was imported, or a person decided against it.'),
        Submitted: instant('When it was taken.'),
        Finished: orNull(instant('When its import ended.')),
        Report: orNull(report),
        ...envelopeFields,
      },
      { description: 'How it stands.' },
    ),
  },
  errors: { ...uploadRefusals, not_found: 'There is no such import of this school.' },
});
