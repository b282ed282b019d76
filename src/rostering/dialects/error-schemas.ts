// In charge of the schemas of errors that dialects refer to; variant A has text.
import { Type } from '../../http/json-schema.ts';
import { allMinorCodes } from './oneroster-1p2.ts';

/** Of variant B. */
const statusSchema = {
  $id: 'imsx_StatusInfoSet',
  ...Type.Object(
    {
      statusInfoSet: Type.Array(
        Type.Object(
          {
            imsx_codeMajor: Type.Unsafe<string>({ type: 'string', enum: ['failure'], description: 'Always failure.' }),
            imsx_severity: Type.Unsafe<string>({ type: 'string', enum: ['error'], description: 'Always error.' }),
            imsx_codeMinor: Type.String({ description: 'What kind of error, in the words of the standard, for programs.' }),
            imsx_description: Type.String({ description: 'What was wrong and what would be right, for people.' }),
          },
          { additionalProperties: false },
        ),
        { minItems: 1 },
      ),
    },
    { additionalProperties: false, description: 'An error in the shape of OneRoster 1.1.' },
  ),
};

/** Of OneRoster 1.2. */
const statusInfoSchema = {
  $id: 'imsx_StatusInfo',
  ...Type.Object(
    {
      imsx_codeMajor: Type.Unsafe<string>({ type: 'string', enum: ['failure'], description: 'Always failure.' }),
      imsx_severity: Type.Unsafe<string>({ type: 'string', enum: ['error'], description: 'Always error.' }),
      imsx_description: Type.String({ description: 'What was wrong and what would be right, for people.' }),
      imsx_CodeMinor: Type.Object(
        {
          imsx_codeMinorField: Type.Array(
            Type.Object(
              {
                imsx_codeMinorFieldName: Type.Unsafe<string>({ type: 'string', enum: ['TargetEndSystem'], description: 'Always TargetEndSystem.' }),
                imsx_codeMinorFieldValue: Type.Unsafe<string>({
                  type: 'string',
                  enum: [...allMinorCodes],
                  description: 'What kind of error, in the words of the standard, for programs.',
                }),
              },
              { additionalProperties: false },
            ),
            { minItems: 1 },
          ),
        },
        { additionalProperties: false },
      ),
    },
    { additionalProperties: false, description: 'An error in the shape of OneRoster 1.2.' },
  ),
};

export const errorSchemas = [statusSchema, statusInfoSchema];
