// In charge of collecting examples: asks a demo for every answer that has none, or one that no longer fits its schema. What is
// kept stays, so that examples do not change from day to day as the demo does.
import type { FastifyInstance } from 'fastify';
import type { Db } from '../src/db/connect.ts';
import type { DemoCredentials } from '../src/demo.ts';
import { listOperations, type Described, type OpenApiDocument } from '../src/reference/document.ts';
import { readExamples, type Examples } from '../src/reference/examples.ts';
import { surfaces, type SurfaceName } from '../src/reference/surfaces.ts';
import { askDescribed, createAsking, type Answered, type Asking } from './ask-described.ts';
import { createValidate, nameOf, successOf } from './described.ts';
import { asks } from './example-asks.ts';

type Documents = Readonly<Record<SurfaceName, OpenApiDocument>>;

/** Those that have JSON to show. */
export function listExemplified(document: OpenApiDocument): Described[] {
  return listOperations(document.paths).filter(({ operation }) => successOf(operation).schema !== undefined);
}

/** By surface, the ids of operations whose example is missing or does not fit. */
export function listMissing(documents: Documents, known: Readonly<Record<SurfaceName, Examples>>): Described[] {
  return Object.entries(documents).flatMap(([name, document]) => {
    const validate = createValidate(document);
    return listExemplified(document).filter((described) => {
      const { status, schema = {} } = successOf(described.operation);
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
  const wanted = new Set((all ? Object.values(documents).flatMap(listExemplified) : listMissing(documents, known)).map(nameOf));
  const collected: [string, Examples][] = [];
  for (const [name, document] of Object.entries(documents)) {
    const examples: Record<string, Record<string, unknown>> = {};
    for (const described of listExemplified(document)) {
      const id = nameOf(described);
      examples[id] = wanted.has(id) ? await askFor(asking, described) : { ...known[name as SurfaceName][id] };
    }
    collected.push([name, examples]);
  }
  return Object.fromEntries(collected) as Record<SurfaceName, Examples>;
}

/** Made ready as the table says, if it says anything. */
export async function askForExample(asking: Asking, described: Described): Promise<Answered> {
  return askDescribed(asking, described, await asks[nameOf(described)]?.(asking));
}

async function askFor(asking: Asking, described: Described): Promise<Record<string, unknown>> {
  const { status, body } = await askForExample(asking, described);
  const wanted = successOf(described.operation).status;
  if (String(status) !== wanted) throw new Error(`${nameOf(described)}: ${status} instead of ${wanted}: ${JSON.stringify(body)}`);
  return { [wanted]: hideSecrets(shorten(body), asking.demo) };
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
