// In charge of describing, for the documentation, what a caller can learn about itself.
import type { RouteShorthandOptions } from 'fastify';
import { Type, type TSchema } from '../http/json-schema.ts';
import { schoolRefusals, schoolSecurity } from '../access/describe-caller.ts';
import { scopeNames } from '../access/scopes.ts';
import { databaseNames } from '../collection/connector.ts';
import { describeRoute, envelopeFields, exactly, flag, instant, listOf, named, oneOf, orNull, text } from '../http/describe-route.ts';
import { commonParameters } from './catalogue.ts';
import { dataTag, estabParameter } from './describe-endpoint.ts';

const scope = (description: string) => oneOf(scopeNames, description);

const abouts: Readonly<Record<string, { summary: string; description: string; answer: TSchema }>> = {
  TokenDetails: {
    summary: 'Whose token this is, and what it opens',
    description: 'The first thing to ask with a new token. Scopes are those that the school grants now, not those of when the token was made.',
    answer: exactly({
      Estab: text('The school.'),
      Expires: instant('When the token ends.'),
      Name: orNull(text('The name of the school.')),
      RelyingParty: text('The application.'),
      Scopes: listOf(scope('A scope.'), 'What the school grants at this moment.'),
      ...envelopeFields,
    }),
  },
  Scopes: {
    summary: 'Every scope, and whether it is granted',
    description: 'All scopes that a school can grant.',
    answer: exactly({
      Scopes: listOf(
        exactly({
          Name: scope('The scope.'),
          Category: text('What it belongs to.'),
          Description: text('What a school reads of it.'),
          Granted: flag('Whether the school grants it to this application.'),
        }),
        'Each scope.',
      ),
      ...envelopeFields,
    }),
  },
  Queries: {
    summary: 'The catalogue of data endpoints',
    description: 'Every data endpoint with its path, scope, databases, parameters and fields: what this reference says of them, for programs.',
    answer: exactly({
      Queries: listOf(
        exactly({
          Id: text('The name again.'),
          Name: text('The name of the endpoint, which is also the key of its rows.'),
          Method: oneOf(['GET'], 'The verb.'),
          Path: text('Its path.'),
          PathOfRow: orNull(text('The path of a single row; null where rows have no Id.')),
          Description: text('What it gives.'),
          Scope: scope('The scope that it needs.'),
          Databases: listOf(oneOf(databaseNames, 'A database.'), 'The component databases that it needs.'),
          Parameters: listOf(
            exactly({ Name: text('Its name.'), Required: flag('Whether it must be given.'), Description: text('What it does.') }),
            'What it takes.',
          ),
          Fields: listOf(text('A field.'), 'The fields of its rows, in their order.'),
        }),
        'Each endpoint.',
      ),
      ...envelopeFields,
    }),
  },
  Databases: {
    summary: 'How the component databases stand',
    description: 'Whether what is served is fresh, and if not, why. Nothing is collected because of this request.',
    answer: named('DBStatus'),
  },
};

const [callbackUrl] = commonParameters.filter(({ name }) => name === 'callbackUrl');

/** In the order of their addresses: by name, with the school in the path or without. */
export const aboutNames = Object.keys(abouts);

export function describeAbout(name: string, withSchool: boolean): RouteShorthandOptions {
  const about = abouts[name];
  if (!about) throw new Error(`${name} is not described`);
  const { summary, description, answer } = about;
  return describeRoute({
    tag: dataTag,
    operationId: `get${withSchool ? '' : 'Own'}${name}`,
    summary: `${summary}${withSchool ? ', with the school in the path' : ''}`,
    description: `${description} Needs no scope.`,
    security: schoolSecurity,
    ...(withSchool ? { params: Type.Object(estabParameter) } : {}),
    query: Type.Object({
      callbackUrl: Type.Optional(
        Type.Unsafe({ ...callbackUrl?.schema, description: 'Answers 202 and posts the DBStatus object to this URL, as every data endpoint does.' }),
      ),
    }),
    answers: { 200: answer, 202: Type.Unsafe({ ...named('DBStatus'), description: 'With callbackUrl.' }) },
    streamed: true,
    errors: { ...schoolRefusals },
  });
}
