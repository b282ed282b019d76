// In charge of collecting examples: asks a demo for every answer that has none, or one that no longer fits its schema. What is
// kept stays, so that examples do not change from day to day as the demo does.
import type { FastifyInstance } from 'fastify';
import type { Db } from '../src/db/connect.ts';
import type { DemoCredentials } from '../src/demo.ts';
import { listOperations, type Described, type OpenApiDocument, type Schema } from '../src/reference/document.ts';
import { readExamples, type Examples } from '../src/reference/examples.ts';
import { surfaces, type SurfaceName } from '../src/reference/surfaces.ts';
import { askDescribed, createAsking, type Answered, type Asking } from './ask-described.ts';
import { createValidate, isJson, nameOf } from './described.ts';
import { findAsk, furtherAsks } from './example-asks.ts';

type Documents = Readonly<Record<SurfaceName, OpenApiDocument>>;

/** What an operation answers in JSON with a status, and nothing says yet what that looks like. */
export type Wanted = Readonly<{ described: Described; status: string; schema: Schema }>;

/** Errors have an example for each code already, and what a fault of the service looks like is not to be asked for. */
export function listWanted(document: OpenApiDocument): Wanted[] {
  return listOperations(document.paths).flatMap((described) =>
    Object.entries(described.operation.responses).flatMap(([status, { content = {} }]) => {
      const [, { schema, examples } = {}] = Object.entries(content).find(([type]) => isJson(type)) ?? [];
      const told = (examples !== undefined || status.startsWith('5')) && !(`${nameOf(described)} ${status}` in furtherAsks);
      return schema === undefined || told ? [] : [{ described, status, schema }];
    }),
  );
}

/** Those whose example is missing or does not fit. */
export function listMissing(documents: Documents, known: Readonly<Record<SurfaceName, Examples>>): Wanted[] {
  return Object.entries(documents).flatMap(([name, document]) => {
    const validate = createValidate(document);
    return listWanted(document).filter(({ described, status, schema }) => {
      const example = known[name as SurfaceName][nameOf(described)]?.[status];
      return example === undefined || validate(schema, example).length > 0;
    });
  });
}

export async function collectExamples(
  documents: Documents,
  known: Readonly<Record<SurfaceName, Examples>>,
  { app, db, demo, all }: { app: FastifyInstance; db: Db; demo: DemoCredentials; all: boolean },
): Promise<Record<SurfaceName, Examples>> {
  const asking = createAsking(app, db, demo);
  const missing = new Set((all ? Object.values(documents).flatMap(listWanted) : listMissing(documents, known)).map(keyOf));
  const collected: [string, Examples][] = [];
  for (const [name, document] of Object.entries(documents)) {
    const examples: Record<string, Record<string, unknown>> = {};
    for (const wanted of listWanted(document)) {
      const id = nameOf(wanted.described);
      const body = missing.has(keyOf(wanted)) ? await askFor(asking, wanted) : known[name as SurfaceName][id]?.[wanted.status];
      examples[id] = { ...examples[id], [wanted.status]: body };
    }
    collected.push([name, examples]);
  }
  return Object.fromEntries(collected) as Record<SurfaceName, Examples>;
}

export const keyOf = ({ described, status }: Wanted): string => `${nameOf(described)} ${status}`;

/** Made ready as the table says, if it says anything. */
export async function askForExample(asking: Asking, { described, status }: Wanted): Promise<Answered> {
  return askDescribed(asking, described, await findAsk(described.operation, status)?.(asking));
}

async function askFor(asking: Asking, wanted: Wanted): Promise<unknown> {
  const { status, body } = await askForExample(asking, wanted);
  if (String(status) !== wanted.status) throw new Error(`${keyOf(wanted)}: ${status} instead: ${JSON.stringify(body)}`);
  return hideSecrets(shorten(body), asking.demo);
}

const longestList = 3;

/** Of many records a few show as much. */
function shorten(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (!Array.isArray(value)) return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shorten(inner)]));
  const records = value.some((one) => typeof one === 'object');
  return (records ? value.slice(0, longestList) : value).map(shorten);
}

const token = 'eyJhbGciOiJFUzI1NiJ9.eyJleGFtcGxlIjp0cnVlfQ.not-a-real-token';
const secretNames = new Set(['access_token', 'token', 'id_token', 'refresh_token']);

/** What opens something is replaced by what nobody takes for real. */
function hideSecrets(value: unknown, demo: DemoCredentials): unknown {
  if (typeof value === 'string') {
    const secrets = Object.entries(demo).filter(([name]) => name.endsWith('Secret'));
    return secrets.reduce((text, [name, secret]) => text.replaceAll(secret, `${secret.split('_', 2).join('_')}_example-${name}`), value);
  }
  if (Array.isArray(value)) return value.map((one) => hideSecrets(one, demo));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, secretNames.has(name) && typeof inner === 'string' ? token : hideSecrets(inner, demo)]),
  );
}

/** As committed. */
export function readKept(): Record<SurfaceName, Examples> {
  return Object.fromEntries(surfaces.map(({ name }) => [name, readExamples(name)])) as Record<SurfaceName, Examples>;
}
