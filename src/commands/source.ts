// In charge of the command that shows where a school's data comes from and how it stands, and of trying a source.
import { requireEstablishment } from '../access/establishments.ts';
import { faultySecret, prepareSource, type SourceSetup } from '../collection/change-source.ts';
import { readDatabases } from '../collection/component-databases.ts';
import { parseProviderOptions, readSettings, type SourceSettings } from '../collection/connector-settings.ts';
import { findHeld } from '../collection/held.ts';
import { describeWaiting, renderSentence } from '../collection/import-report.ts';
import { listCollections, type ListedCollection } from '../collection/list-collections.ts';
import type { Config } from '../config.ts';
import type { Db } from '../db/connect.ts';
import { EnvironmentFault } from '../environment-fault.ts';
import { requireAll, SchoolbellError } from '../errors.ts';
import { readSecretLine } from '../secret-file.ts';
import { withConnectors } from './collect.ts';
import { optionalText, text, type Command, type Context, type Given } from './command.ts';
import { renderPairs, renderTable } from './table.ts';

const listed = 20;

const setupFields = {
  connector: { value: '<kind>', help: 'where its data comes from: csv, oneroster, demo or none; an import sets csv' },
  folder: { value: '<path>', help: 'csv: a folder on this server that is watched; without one packages are uploaded' },
  url: { value: '<url>', help: "oneroster: the provider's root, such as https://host/ims/oneroster/v1p1" },
  'token-url': { value: '<url>', help: 'oneroster: where tokens come from, if it is not found below the root' },
  'oneroster-version': { value: '<1.1|1.2>', help: 'oneroster: which version the provider speaks; not given, it is found out' },
  scope: { value: '<scopes>', help: 'oneroster: what tokens are asked for, as the provider names it, or none; not given, the scopes of the standard' },
  'client-id': { value: '<id>', help: 'oneroster: the credentials' },
  'client-secret': {
    value: '<secret>',
    help: 'oneroster: the credentials, visible to every user of this machine; better --client-secret-file',
    secret: true,
    warning: 'every user of this machine can read --client-secret in the list of processes; use --client-secret-file <path or -> or SOURCE_CLIENT_SECRET',
  },
  'client-secret-file': {
    value: '<path or ->',
    help: 'oneroster: a file with the client secret in its first line; - is standard input. Without it, SOURCE_CLIENT_SECRET, ' +
      'and else the secret that is stored for this address',
  },
} as const;

/** What a school gets its data from, and whether that is asked first. */
export const sourceOptions = { ...setupFields, test: { value: undefined, help: 'ask the source first, and change nothing unless it answers' } } as const;

export const sourceCommands: readonly Command[] = [
  {
    name: 'school source',
    // With --test it sends credentials to an address.
    effect: 'looks',
    help: 'Shows where the data of a school comes from, how it stands and when it was last collected; with --test, whether that source, or one given, answers.',
    options: {
      estab: { value: '<id>', help: 'the establishment', required: true },
      ...setupFields,
      test: { value: undefined, help: 'ask the source, or the one that is given; nothing is changed' },
    },
    async run(context, given) {
      const { db, seal } = context;
      const { estab } = await requireEstablishment(db, text(given, 'estab'));
      const settings = await readSettings(db, seal, estab);
      const source = withoutSecret(settings);
      const test = given.options.test === true;
      const setup = await parseSource(context, estab, given, () => {
        if (given.options.connector !== undefined && !test)
          throw new SchoolbellError('invalid_request', 'another source is only tried here, with --test; school edit sets it');
      });
      const found = test ? (await prepare(context, estab, setup ?? settings, true)).found : undefined;
      const [databases, collections] = [await readDatabases(db, estab), await listFetches(db, estab)];
      return {
        data: { estab, source, databases, collections, ...(found === undefined ? {} : { found }) },
        lines: [
          ...renderPairs(Object.fromEntries(Object.entries(source).map(([name, value]) => [name, value ?? 'none']))),
          ...(found === undefined ? [] : [renderSentence(found)]),
          '',
          ...renderTable(
            databases,
            [
              { title: 'Database', of: ({ name }) => name },
              { title: 'Status', of: ({ status }) => status },
              { title: 'Rows', of: ({ rowCount }) => rowCount, right: true },
              { title: 'Last collected', of: ({ updatedAt }) => updatedAt ?? 'never' },
              { title: 'Fresh until', of: ({ expiresAt }) => expiresAt },
              { title: 'Message', of: ({ message }) => message },
            ],
            'nothing is collected for this school',
          ),
          '',
          ...renderTable(
            collections,
            [
              { title: 'Asked for', of: ({ askedAt }) => askedAt },
              { title: 'Database', of: ({ database }) => database },
              { title: 'What', of: ({ what }) => what },
              { title: 'State', of: ({ state }) => state },
              { title: 'Ended', of: ({ settledAt }) => settledAt },
              { title: 'Import', of: ({ ending }) => (ending?.outcome === 'held' && ending.decision === null ? `${ending.import} waits` : ending?.import) },
              { title: 'Message', of: ({ message }) => message },
            ],
            'nothing was collected yet',
          ),
        ],
      };
    },
  },
];

/** An import by a command has no queued fetch. It is listed while it waits for approval, because whoever approves it has to name it. */
async function listFetches(db: Db, estab: string): Promise<Omit<ListedCollection, 'number'>[]> {
  const [fetches, held] = [await listCollections(db, estab, { most: listed }), await findHeld(db, estab)];
  if (!held || fetches.some(({ ending }) => ending?.import === held.id)) return fetches;
  const { id, at } = held;
  const ending = { import: id, outcome: 'held', decision: null } as const;
  const what = held.kind === 'command' || held.kind === 'upload' ? 'package' : 'everything';
  const settled = { approved: false, state: 'done', attempts: 1, askedAt: at, due: null, settledAt: at } as const;
  return [{ id, database: 'SchoolData', what, ...settled, message: describeWaiting(held.shrinkage), ending }, ...fetches];
}

const setupOptions = {
  csv: ['folder'],
  oneroster: ['url', 'token-url', 'oneroster-version', 'scope', 'client-id', 'client-secret', 'client-secret-file'],
  demo: [],
  none: [],
} as const;

/** Throws one error that lists an unknown connector, or every option that belongs to another connector. */
function requireOwnOptions(given: Given): void {
  const kind = optionalText(given, 'connector');
  if (kind !== undefined && !isSourceKind(kind))
    throw new SchoolbellError('invalid_request', `--connector "${kind}": must be one of ${Object.keys(setupOptions).join(', ')}`);
  const allowed: readonly string[] = kind === undefined ? [] : setupOptions[kind];
  const strangers = Object.values(setupOptions)
    .flat()
    .filter((name) => given.options[name] !== undefined && !allowed.includes(name));
  const owner = kind === undefined ? 'a school that has no --connector' : `--connector ${kind}`;
  if (strangers.length > 0) throw new SchoolbellError('invalid_request', strangers.map((name) => `--${name} does not go with ${owner}`).join('; '));
}

const isSourceKind = (kind: string): kind is SourceSetup['kind'] => Object.hasOwn(setupOptions, kind);

async function parseSetup(context: Context, estab: string, given: Given): Promise<SourceSetup | undefined> {
  const kind = optionalText(given, 'connector');
  if (kind === undefined || !isSourceKind(kind)) return undefined;
  if (kind === 'oneroster') return parseProvider(context, estab, given);
  const setup = kind === 'csv' ? { kind, folder: optionalText(given, 'folder') } : { kind };
  await prepare(context, estab, setup, false);
  return setup;
}

type Provider = Extract<SourceSetup, { kind: 'oneroster' }>;

/** Leaves options that cannot be parsed out of the setup that is checked, so that the faults of all options are reported together. */
async function parseProvider(context: Context, estab: string, given: Given): Promise<Provider> {
  const [url, tokenUrl] = [optionalText(given, 'url') ?? '', optionalText(given, 'token-url')];
  const [version, scope] = [optionalText(given, 'oneroster-version'), optionalText(given, 'scope')];
  let setup: Provider = { kind: 'oneroster', url, tokenUrl, clientId: text(given, 'client-id'), clientSecret: faultySecret };
  setup = { ...setup, ...parseProviderOptions({ version: undefined, scope }) };
  const parseVersion = () => {
    setup = { ...setup, ...parseProviderOptions({ version, scope }) };
  };
  const readSecret = async () => {
    setup = { ...setup, clientSecret: await readClientSecret(context.config, given) };
  };
  await requireAll([parseVersion, readSecret, () => prepare(context, estab, setup, false)]);
  return setup;
}

/** Returns the client secret from an option or the environment, or an empty text: the stored one then stays. */
async function readClientSecret({ sourceClientSecret = '' }: Config, given: Given): Promise<string> {
  const [typed, file] = [optionalText(given, 'client-secret'), optionalText(given, 'client-secret-file')];
  if (typed !== undefined && file !== undefined) throw new SchoolbellError('invalid_request', 'give either --client-secret or --client-secret-file');
  if (file === undefined) return typed ?? sourceClientSecret;
  const secret = await readSecretLine('--client-secret-file', file).catch((error: unknown) => {
    throw error instanceof EnvironmentFault ? new SchoolbellError('invalid_request', error.message, { cause: error }) : error;
  });
  if (secret !== '') return secret;
  throw new SchoolbellError('invalid_request', `the first line of ${file === '-' ? 'standard input' : file} is empty; the client secret belongs there`);
}

function withoutSecret(settings: SourceSettings): Readonly<Record<string, string | undefined>> {
  if (settings.kind !== 'oneroster') return settings;
  const { clientSecret: _, ...shown } = settings;
  return shown;
}

function prepare(context: Context, estab: string, setup: SourceSetup, test: boolean): Promise<{ setup: SourceSetup; found: string }> {
  const { db, seal } = context;
  if (!test) return prepareSource({ db, seal, providers: undefined }, estab, setup);
  return withConnectors(context, ({ outbound }) => prepareSource({ db, seal, providers: outbound }, estab, setup));
}

/** Parses and checks the source of a command. Faults of the options and those that `check` finds are reported together. */
async function parseSource(context: Context, estab: string, given: Given, check: () => void): Promise<SourceSetup | undefined> {
  let setup: SourceSetup | undefined;
  const requireOptions = () => {
    if (given.missing !== undefined) throw new SchoolbellError('invalid_request', given.missing);
  };
  const checkSetup = async () => {
    setup = await parseSetup(context, estab, given);
  };
  await requireAll([requireOptions, check, () => requireOwnOptions(given), checkSetup]);
  return setup;
}

/**
 * Parses, checks and, with --test, tries the source of a command. Returns the setup to save, if any, and what the trial found. All faults of
 * the options are reported before the source is contacted.
 */
export async function prepareGiven(context: Context, estab: string, given: Given, check: () => void): Promise<PreparedSource> {
  const setup = await parseSource(context, estab, given, check);
  if (!setup) return { setup, found: undefined };
  const test = given.options.test === true;
  const prepared = await prepare(context, estab, setup, test);
  return { setup: prepared.setup, found: test ? prepared.found : undefined };
}

type PreparedSource = { setup: SourceSetup | undefined; found: string | undefined };
