// In charge of describing the data endpoints for the documentation, from the table that also runs them.
import type { RouteShorthandOptions } from 'fastify';
import { Type, type TObject, type TSchema } from '../http/json-schema.ts';
import { schoolRefusals, schoolSecurity } from '../access/describe-caller.ts';
import { databaseStatuses } from '../collection/component-databases.ts';
import { databaseNames } from '../collection/connector.ts';
import { paginationSchema } from '../http/describe-pages.ts';
import { describeRoute, envelopeFields, exactly, flag, instant, listOf, named, oneOf, orNull, text, whole } from '../http/describe-route.ts';
import { commonParameters, endpoints, type Endpoint } from './catalogue.ts';

export const dataTag = 'School data';
export const attendanceTag = 'Attendance';

const databaseSchema = {
  $id: 'DatabaseStatus',
  ...exactly(
    {
      DatabaseName: oneOf(databaseNames, 'The component database.'),
      Status: oneOf(databaseStatuses, 'OK: fresh. Expired and Updating: what was collected before is served meanwhile. The others need somebody or time.'),
      LastUpdated: orNull(instant('When it was last collected; null before the first time.')),
      Expires: orNull(instant('When it stops being fresh; null: never.')),
      TTLMinutes: whole('How long it is fresh after a collection.'),
      RowCount: whole('Number of its active records of the kinds that your scopes open.'),
      Message: orNull(text('What is the matter with it, if anything.')),
    },
    { description: 'How one component database stands.' },
  ),
};

const statusFields = {
  DBStatus: listOf(named('DatabaseStatus'), 'Each database that the endpoint needs.'),
  Estab: text('The school.'),
  Endpoint: text('The endpoint that was asked.'),
  RequestId: orNull(text('The request, by which a callback is matched to it; null where nobody is called.')),
  AllOK: flag('Whether the request was right and every database is OK.'),
  TimedOut: flag('Whether 10 minutes passed before they were.'),
  ...envelopeFields,
  Message: orNull(text('Which databases are behind and what can be had meanwhile; null when all is well.')),
};

/** What is known by name in the documents. */
export const dataSchemas = [
  databaseSchema,
  { $id: 'DBStatus', ...exactly(statusFields, { description: 'How the component databases stand that an endpoint needs.' }) },
  ...endpoints.flatMap((endpoint) => [
    { $id: `${endpoint.name}Row`, ...rowSchema(endpoint) },
    { $id: `${endpoint.name}Answer`, ...answerSchema(endpoint) },
  ]),
];

/** No field is required: `select` leaves out what is not asked for. */
function rowSchema({ row, description }: Endpoint): TObject {
  const fields = Object.fromEntries(Object.entries(row).map(([name, schema]) => [name, Type.Optional(schema)]));
  return exactly(fields, { description: `${description}. Every field is there, null where the school has nothing, unless select names others.` });
}

function answerSchema({ name, databases }: Endpoint): TObject {
  return exactly({
    [name]: listOf(named(`${name}Row`), 'The rows of this page.'),
    [`${name}_deleted`]: Type.Optional(listOf(text('An Id.'), 'With updatedSince: the ids gone since, or no longer among what was asked for.')),
    meta: listOf(
      exactly({
        Id: whole('Always 1.'),
        Estab: text('The school.'),
        Version: whole('The version of the roster; 0 where the rows are not of one.'),
        DateTime: instant('When this was answered.'),
      }),
      'One entry.',
    ),
    __pagination__: listOf(paginationSchema, 'One entry.'),
    __dbStatus__: listOf(named('DatabaseStatus'), databases.length > 0 ? 'The databases that the rows come from.' : 'Empty: this needs none.'),
    ...envelopeFields,
  });
}

export const estabParameter = { estab: text("The establishment; another than the token's is refused.", { examples: ['9990001'] }) };

/** The path has the school in it, or it is the token's. */
export type Place = Readonly<{ named: boolean; row: boolean }>;

export function describeEndpoint(endpoint: Endpoint, place: Place): RouteShorthandOptions {
  const { name, description, scope, exampleId } = endpoint;
  const params = { ...(place.named ? estabParameter : {}), ...(place.row ? { id: text('The Id of the row.', { examples: [exampleId] }) } : {}) };
  return describeRoute({
    tag: endpoint.scope === 'Attendance' ? attendanceTag : dataTag,
    operationId: `get${place.named ? '' : 'Own'}${name}${place.row ? 'ById' : ''}`,
    summary: `${place.row ? `One row of ${name}` : description}${place.named ? '' : ", of the token's own school"}`,
    description: describeInWords(endpoint, place),
    security: schoolSecurity,
    ...(Object.keys(params).length > 0 ? { params: Type.Object(params) } : {}),
    query: querySchema(endpoint, place),
    answers: {
      200: Type.Unsafe({
        description: 'The rows; with onlyGetDBStatus=true how the databases stand.',
        anyOf: [named(`${name}Answer`), named('DBStatus')],
      }),
      202: Type.Unsafe({ ...named('DBStatus'), description: 'With callbackUrl: how the databases stand now. RequestId comes again in the callback.' }),
    },
    streamed: true,
    errors: {
      ...schoolRefusals,
      invalid_request: refusalOf(endpoint),
      forbidden: `The school has not granted ${scope}, which ${name} needs.`,
      ...(place.row ? { not_found: `${name} has no row with the Id "none" now.` } : {}),
      ...(endpoint.servedAlways ? {} : { conflict: notCollected(endpoint) }),
    },
  });
}

function describeInWords({ name, scope, databases }: Endpoint, place: Place): string {
  const served = ` It comes from ${databases.join(' and ')}: served at once from what was collected last, and refreshed behind that.`;
  const other = place.named
    ? `The same without the school in the path is /api/v1/${name}, or /${name}.`
    : `The school is that of the token. /${name} is the same.`;
  const later = 'With callbackUrl nothing is served: it answers 202 and calls back once.';
  return `Needs the scope ${scope}.${databases.length > 0 ? served : ''} Names are taken in any case. ${other} ${later}`;
}

function refusalOf({ parameters }: Endpoint): string {
  const needed = parameters.find(({ required }) => required);
  return needed ? `${needed.name} is missing; give it as YYYY-MM-DD.` : 'pageSize: "0" is not a whole number from 1 on.';
}

const notCollected = ({ name, databases }: Endpoint) =>
  `${name} cannot be served: ${databases[0]} is NoData (nothing was collected or uploaded yet), and nothing was collected before.` +
  ' Ask again later, or give a callbackUrl to be told.';

function querySchema({ parameters, fields, databases }: Endpoint, { row }: Place): TObject {
  // The Id of a row says all that they could, and they may only agree with it.
  const own = (row ? [] : parameters).map(({ name, kind, required, description, example }): [string, TSchema] => {
    const more = { description: `${capital(description)}.`, examples: [example] };
    const plain = kind === 'date' ? { ...more, format: 'date' } : more;
    const schema = typeof kind === 'object' ? oneOf(kind.oneOf, more.description, more) : Type.String(plain);
    return [name, required ? schema : Type.Optional(schema)];
  });
  const common = commonParameters.filter(({ ofLists }) => !row || !ofLists).map(({ name, description, schema }): [string, TSchema] => {
    const more = name === 'select' ? { examples: [fields.slice(0, 3).join(',')] } : {};
    return [name, Type.Optional(Type.Unsafe({ ...schema, ...more, description: explain(name, description, databases) }))];
  });
  return Type.Object(Object.fromEntries([...own, ...common]));
}

/** What surprises. */
function explain(name: string, description: string, databases: readonly string[]): string {
  if (name !== 'callbackUrl') return `${capital(description)}.`;
  const when = databases.length > 0 ? `once ${databases.join(' and ')} ${databases.length > 1 ? 'are' : 'is'} OK` : 'at once';
  return (
    `${capital(description)}: a POST of the DBStatus object ${when}, at once where something is wrong, after 10 minutes at the latest.` +
    ' Percent-encode it as a whole, with your own identifiers in its query.'
  );
}

const capital = (words: string) => `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
