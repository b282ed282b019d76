// In charge of a school getting another source: what is given is checked and tried, and saved only if it works.
import type { Seal } from '../access/seal.ts';
import type { Db, Tx } from '../db/connect.ts';
import { requireAll, SchoolbellError } from '../errors.ts';
import { BlockedTarget } from '../http/address-guard.ts';
import type { Outbound } from '../http/outbound.ts';
import { MisError } from './connector.ts';
import { readSettings, removeConnector, requireUsableSetup, setConnector, type ConnectorSetup } from './connector-settings.ts';
import { openFolder } from './connectors/csv/csv-connector.ts';
import { testProvider, type Tested } from './connectors/oneroster/oneroster-connector.ts';
import { lockSource } from './lock-source.ts';
import { SourceError } from './problem.ts';

/** none: what was collected stays, and nothing more is collected. */
export type SourceSetup = ConnectorSetup | Readonly<{ kind: 'none' }>;
/** providers: undefined where they are not to be tried. */
export type SourceParts = Readonly<{ db: Db; seal: Seal; providers: Outbound | undefined }>;

const listedFiles = 10;
/** A provider is asked for a first page before it is saved. */
export const longestTrialMs = 150_000;

/** For a page: tried, and then saved. */
export async function changeSource(parts: SourceParts, estab: string, given: SourceSetup): Promise<void> {
  const nothingSaved = (error: unknown) => {
    if (!(error instanceof SchoolbellError)) throw error;
    // A page has fields where a command has options.
    const code = error.code === 'conflict' ? 'conflict' : 'unprocessable';
    throw new SchoolbellError(code, `Nothing was saved: ${error.message.replace(/^--/, '')}`, { cause: error });
  };
  const { setup } = await prepareSource(parts, estab, given).catch(nothingSaved);
  await parts.db.begin((tx) => saveSource(tx, parts.seal, estab, setup)).catch(nothingSaved);
}

export async function saveSource(tx: Tx, seal: Seal, estab: string, setup: SourceSetup): Promise<void> {
  if (setup.kind === 'oneroster' && setup.kept) await requireStillKept(tx, seal, estab, setup.clientSecret);
  if (setup.kind === 'none') await removeConnector(tx, estab);
  else await setConnector(tx, seal, estab, setup);
}

/** A trial takes its time: a secret that somebody else replaced meanwhile is not put back. */
async function requireStillKept(tx: Tx, seal: Seal, estab: string, secret: string): Promise<void> {
  await lockSource(tx, estab);
  const now = await readSettings(tx, seal, estab);
  if (now.kind !== 'oneroster' || now.clientSecret !== secret)
    throw new SchoolbellError('conflict', 'the source was changed by somebody else while this one was tried. Look at it and try again');
}

/** Stands for a client secret whose own fault is reported, so that it is not reported as missing too. */
export const faultySecret = 'faulty';

/** What is to be saved, and what was found there. Throws, with what would be right, unless it works. */
export async function prepareSource({ db, seal, providers }: SourceParts, estab: string, given: SourceSetup): Promise<{ setup: SourceSetup; found: string }> {
  if (given.kind === 'none') return { setup: given, found: 'there is no source to be asked' };
  let setup = given;
  if (given.kind === 'oneroster' && given.clientSecret === '') {
    setup = { ...given, clientSecret: faultySecret };
    const findSecret = async () => {
      setup = await withKeptSecret(db, seal, estab, given);
    };
    await requireAll([findSecret, () => requireUsableSetup(setup)]);
  } else await requireUsableSetup(setup);
  return { setup, found: providers ? await trySource(providers, setup) : 'it was not asked' };
}

async function trySource(providers: Outbound, setup: ConnectorSetup): Promise<string> {
  try {
    if (setup.kind === 'oneroster') return describeTested(await testProvider({ ...setup, state: {}, outbound: providers }));
    if (setup.kind === 'csv' && setup.folder !== undefined) return await lookIntoFolder(setup.folder);
  } catch (error) {
    if (error instanceof MisError || error instanceof BlockedTarget) throw new SchoolbellError('unprocessable', error.message, { cause: error });
    throw error;
  }
  return setup.kind === 'demo' ? 'the demonstration school is always there' : 'packages are uploaded; there is nobody to ask';
}

function describeTested({ version, tokenUrl, collections }: Tested): string {
  const counts = Object.entries(collections).map(([name, count]) => `${count.toLocaleString('en-GB')} ${name}`);
  return `the provider answers in OneRoster ${version}, with ${counts.join(', ')}; its tokens are from ${tokenUrl}`;
}

/** A folder into which nothing was written yet is as good as any other. */
async function lookIntoFolder(folder: string): Promise<string> {
  try {
    const opened = await openFolder(folder);
    await opened.close();
    const names = [...opened.files.keys()];
    return `the folder has a package with ${names.slice(0, listedFiles).join(', ')}${names.length > listedFiles ? ' and more' : ''}`;
  } catch (error) {
    const unreadable = !(error instanceof SourceError || error instanceof MisError) || error.cause !== undefined;
    if (unreadable) throw error;
    return `the folder is there, but has no package that can be read yet: ${error.message}`;
  }
}

type Provider = Extract<ConnectorSetup, { kind: 'oneroster' }>;

/** An empty secret is the one that is kept; but nobody is sent a secret that was given for somebody else. */
async function withKeptSecret(db: Db, seal: Seal, estab: string, given: Provider): Promise<Provider> {
  const kept = await readSettings(db, seal, estab);
  if (kept.kind !== 'oneroster') return given;
  const known = new Set([kept.url, kept.tokenUrl].map(originOf));
  const strange = [given.url, given.tokenUrl].find((url) => url !== undefined && url !== '' && !known.has(originOf(url)));
  if (strange !== undefined)
    throw new SchoolbellError('invalid_request', 'the address is another than the secret was given for; type the client secret again');
  return { ...given, clientSecret: kept.clientSecret, kept: true };
}

function originOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url).origin : url;
}
