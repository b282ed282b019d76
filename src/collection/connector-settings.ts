// In charge of how a school's connector is set up: checked when it is saved, credentials sealed, and opened again as a
// connector when there is something to collect or to write.
import { isAbsolute, join } from 'node:path';
import { stat } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { plainAddress } from '../access/plain-addresses.ts';
import type { Seal } from '../access/seal.ts';
import { sealedAs } from '../access/sealed-as.ts';
import type { Db, Sql } from '../db/connect.ts';
import { requireAll, SchoolbellError } from '../errors.ts';
import { BlockedTarget, parseTarget } from '../http/address-guard.ts';
import { cutText } from '../http/cut-text.ts';
import type { Outbound } from '../http/outbound.ts';
import { installDatabases, leaveSource, requestCollection } from './component-databases.ts';
import { databaseNames, type Connector, type DatabaseName } from './connector.ts';
import { createCsvConnector } from './connectors/csv/csv-connector.ts';
import { marksFolder } from './connectors/csv/forget-marks-files.ts';
import { createDemoConnector, misModes, type DemoMode } from './connectors/demo/demo-connector.ts';
import type { Happening } from './connectors/demo/happenings.ts';
import { endHeld } from './held.ts';
import { lockSource } from './lock-source.ts';
import { overtakeAll } from './reading.ts';
import { findRemembered, oneRosterVersions, type OneRosterVersion } from './connectors/oneroster/discovery.ts';
import { createOneRosterConnector } from './connectors/oneroster/oneroster-connector.ts';
import { noScope } from './connectors/oneroster/scopes.ts';

/** What a provider that is not as usual is told to be; what is left out is found out. */
export type ProviderOptions = { version?: OneRosterVersion; scope?: string };

/** kept: the secret is the one that is kept, not one that was given. */
export type ConnectorSetup =
  | { kind: 'csv'; folder: string | undefined }
  | ({ kind: 'oneroster'; url: string; tokenUrl: string | undefined; clientId: string; clientSecret: string; kept?: boolean } & ProviderOptions)
  | { kind: 'demo' };

/** mis: where the demo's MIS lives, as if it were elsewhere. sandbox: what the sandbox says of it holds. */
export type ConnectorParts = { db: Db; mis: Db; seal: Seal; outbound: Outbound; dataDir: string; sandbox?: boolean; now?: () => number };

/** Connectors that can write marks. */
export const writingKinds: readonly string[] = ['csv', 'demo'];

/** Of the demo's MIS: mode, and until when; offsetMs: how far ahead its clock is; happenings: what was asked for. */
export type DemoSettings = { mode?: DemoMode; modeUntil?: string | null; offsetMs?: number; happenings?: readonly Happening[] };
type Settings = { folder?: string; url?: string; tokenUrl?: string } & ProviderOptions & DemoSettings;
type Row = { connector: ConnectorSetup['kind'] | null; settings: Settings | null; sealed: Uint8Array | null; state: Record<string, unknown> | null };

/** Sets the connector, leaves the one before, and, where there is something to read, asks for the first collection. */
export async function setConnector(sql: Sql, seal: Seal, estab: string, setup: ConnectorSetup): Promise<void> {
  const settings = settingsOf(setup);
  const sealed = setup.kind === 'oneroster' ? sealCredentials(seal, estab, setup) : null;
  await lockSource(sql, estab);
  const [before] = await sql<{ connector: string | null }[]>`select connector from establishment where estab = ${estab}`;
  await sql`update establishment set connector = ${setup.kind} where estab = ${estab}`;
  await sql`
    insert into connector_setting (estab, settings, sealed_credentials) values (${estab}, ${sql.json(settings)}, ${sealed})
    on conflict (estab) do update set settings = excluded.settings, sealed_credentials = excluded.sealed_credentials, state = '{}'`;
  const again = setup.kind !== 'csv' || setup.folder !== undefined;
  const { known, offers } = offersOf(setup);
  await leaveSource(sql, estab, offers, { again, uploads: setup.kind === 'csv' });
  await endHeld(sql, estab, 'replaced');
  // What a school is uploading stays wanted.
  if (before?.connector !== 'csv' || setup.kind !== 'csv') await overtakeAll(sql, estab);
  // A package of another source, held until somebody approves it, is not approved with what this one has held.
  if (setup.kind !== 'csv') await sql`delete from upload where estab = ${estab}`;
  await installDatabases(sql, estab, known);
  if (!again) return;
  // Marks of the new source's pupils are not held against the old roster.
  for (const name of offers) await requestCollection(sql, estab, name, { full: true, rosterFirst: name === 'Attendance' });
}

/** The school has no source any more: what was collected stays and is served, credentials go, and nothing is collected. */
export async function removeConnector(sql: Sql, estab: string): Promise<void> {
  await lockSource(sql, estab);
  await sql`update establishment set connector = null where estab = ${estab}`;
  await sql`delete from connector_setting where estab = ${estab}`;
  const kept = await sql<{ name: DatabaseName }[]>`select name from component_database where estab = ${estab} and updated_at is not null`;
  await leaveSource(sql, estab, kept.map(({ name }) => name), { again: false, uploads: false });
  await endHeld(sql, estab, 'replaced');
  await overtakeAll(sql, estab);
  await sql`delete from upload where estab = ${estab}`;
}

/** known: before anything was read. What a folder offers besides is installed with its first roster, and stays if it is there. */
function offersOf(setup: ConnectorSetup): Record<'known' | 'offers', readonly DatabaseName[]> {
  const known = setup.kind === 'demo' ? databaseNames : (['SchoolData'] as const);
  if (setup.kind !== 'csv') return { known, offers: known };
  return { known, offers: createCsvConnector({ folder: setup.folder, writebackFolder: '', hasAttendance: false }).offers };
}

function settingsOf(setup: ConnectorSetup): Settings {
  if (setup.kind === 'demo') return { mode: 'normal' };
  if (setup.kind === 'csv') return setup.folder === undefined ? {} : { folder: setup.folder };
  return { url: setup.url, ...(setup.tokenUrl === undefined ? {} : { tokenUrl: setup.tokenUrl }), ...optionsOf(setup) };
}

function optionsOf({ version, scope }: ProviderOptions): ProviderOptions {
  return { ...(version === undefined ? {} : { version }), ...(scope === undefined ? {} : { scope }) };
}

/** As they are typed, in a field or an option: empty is left out. */
export function parseProviderOptions(given: { version: string | undefined; scope: string | undefined }): ProviderOptions {
  const [typed, scope] = [given.version?.trim(), given.scope?.trim()];
  const version = oneRosterVersions.find((one) => one === typed);
  if (typed && !version)
    throw new SchoolbellError('invalid_request', `the OneRoster version "${cutText(typed, 20)}": must be one of ${oneRosterVersions.join(', ')}`);
  return { ...(version && { version }), ...(scope && { scope: scope.toLowerCase() === noScope ? noScope : scope }) };
}

/** The characters that RFC 6749 has for scopes. */
const scopeText = /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/;

/** Throws, with what would be right, unless this could be a connector. */
export async function requireUsableSetup(setup: ConnectorSetup): Promise<void> {
  if (setup.kind === 'oneroster') {
    const { url, tokenUrl, scope } = setup;
    const requireCredentials = () => {
      if (setup.clientId === '' || setup.clientSecret === '')
        throw new SchoolbellError('invalid_request', 'a OneRoster provider needs a client id and a client secret');
    };
    const requireAddress = () => {
      if (url === '')
        throw new SchoolbellError('invalid_request', '--url is missing: the root of the OneRoster provider, such as https://host/ims/oneroster/v1p1');
      requireUrl(url);
    };
    await requireAll([requireAddress, () => tokenUrl !== undefined && requireUrl(tokenUrl), requireCredentials, () => requireScope(scope)]);
  }
  if (setup.kind !== 'csv' || setup.folder === undefined) return;
  if (!isAbsolute(setup.folder)) throw new SchoolbellError('invalid_request', `--folder "${setup.folder}": must be an absolute path on this server`);
  const found = await stat(setup.folder).catch(() => undefined);
  if (!found?.isDirectory()) throw new SchoolbellError('invalid_request', `--folder "${setup.folder}": there is no such folder`);
}

function requireScope(scope: string | undefined): void {
  if (scope !== undefined && !scopeText.test(scope))
    throw new SchoolbellError('invalid_request', 'the scope must be plain text, without quotation marks or backslashes; several have blanks between them');
  if (scope !== noScope && scope?.toLowerCase().split(' ').includes(noScope))
    throw new SchoolbellError('invalid_request', `the scope "${noScope}" asks for tokens without a scope, and stands alone`);
}

/** An address may carry a password: it is said to nobody and stands in no trail. */
function requireUrl(url: string): void {
  try {
    parseTarget(url);
  } catch (error) {
    if (error instanceof BlockedTarget) throw new SchoolbellError('invalid_request', `"${cutText(plainAddress(url), 200)}": ${error.message}`);
    throw error;
  }
}

/** How it is set up now. The secret is for whoever asks the provider, and for no page. */
export type SourceSettings =
  | { kind: 'none' }
  | { kind: 'csv'; folder: string | undefined }
  | { kind: 'demo'; mode: DemoMode }
  | ({
      kind: 'oneroster';
      url: string;
      tokenUrl: string | undefined;
      clientId: string;
      clientSecret: string;
    } & ProviderOptions &
      FoundOut);
/** By the last reading, where it is not told. */
type FoundOut = { foundVersion?: OneRosterVersion; foundTokenUrl?: string };

export async function readSettings(sql: Sql, seal: Seal, estab: string): Promise<SourceSettings> {
  const { connector, settings, sealed, state } = (await findRow(sql, estab)) ?? { connector: null, settings: null, sealed: null, state: null };
  if (connector === null) return { kind: 'none' };
  if (connector === 'csv') return { kind: connector, folder: settings?.folder };
  if (connector === 'demo') return { kind: connector, mode: modeOf(settings, Date.now()) };
  const credentials = sealed ? openCredentials(seal, estab, sealed) : { clientId: '', clientSecret: '' };
  const url = settings?.url ?? '';
  const found = foundOut(url, settings ?? {}, state ?? {});
  return { kind: connector, url, tokenUrl: settings?.tokenUrl, ...optionsOf(settings ?? {}), ...found, ...credentials };
}

function foundOut(url: string, { version, tokenUrl }: Settings, state: Readonly<Record<string, unknown>>): FoundOut {
  const found = findRemembered(url, state);
  if (!found) return {};
  return {
    ...(version === undefined && { foundVersion: found.version }),
    ...(tokenUrl === undefined && typeof state.tokenUrl === 'string' && { foundTokenUrl: state.tokenUrl }),
  };
}

export function modeOf(settings: DemoSettings | null, now: number): DemoMode {
  const over = settings?.modeUntil && Date.parse(settings.modeUntil) <= now;
  return (over ? undefined : misModes.find((mode) => mode === settings?.mode)) ?? 'normal';
}

type ProviderCredentials = { clientId: string; clientSecret: string };

function sealCredentials(seal: Seal, estab: string, { clientId, clientSecret }: ProviderCredentials): Buffer {
  return seal.seal(JSON.stringify({ clientId, clientSecret }), sealedAs.connectorCredentials(estab));
}

function openCredentials(seal: Seal, estab: string, sealed: Uint8Array): ProviderCredentials {
  return JSON.parse(seal.open(sealed, sealedAs.connectorCredentials(estab))) as ProviderCredentials;
}

async function findRow(sql: Sql, estab: string): Promise<Row | undefined> {
  const [row] = await sql<Row[]>`
    select e.connector, s.settings, s.sealed_credentials as sealed, s.state
    from establishment e left join connector_setting s using (estab) where e.estab = ${estab}`;
  return row;
}

export async function openConnector(parts: ConnectorParts, estab: string): Promise<Connector | undefined> {
  const { db, mis, seal, outbound, dataDir, sandbox = false, now = Date.now } = parts;
  const row = await findRow(db, estab);
  if (!row?.connector) return undefined;
  const settings = row.settings ?? {};
  if (row.connector === 'demo')
    return createDemoConnector({ db: mis, estab, ...behaviourOf(settings, sandbox, now), pause: (ms) => pause(ms) });
  if (row.connector === 'csv') {
    const { folder } = settings;
    return createCsvConnector({
      folder,
      writebackFolder: folder === undefined ? marksFolder(dataDir, estab) : join(folder, 'writeback'),
      hasAttendance: row.state?.marks === true,
    });
  }
  if (!row.sealed) throw new Error(`the OneRoster provider of ${estab} has no credentials`);
  const credentials = openCredentials(seal, estab, row.sealed);
  const { url = '', tokenUrl } = settings;
  return createOneRosterConnector({ url, tokenUrl, ...optionsOf(settings), ...credentials, state: row.state ?? {}, outbound, now });
}

/** Of what the sandbox says nothing is left where there is none. */
function behaviourOf(settings: Settings, sandbox: boolean, now: () => number) {
  const mode = modeOf(settings, now());
  if (!sandbox) return { mode: mode === 'half-written' ? ('normal' as const) : mode, now };
  const { offsetMs = 0, happenings = [] } = settings;
  return { mode, now: () => now() + offsetMs, rightNow: now, moved: { happenings, rollsOver: offsetMs !== 0 } };
}

/** Tells every demo school how to behave, or one; gives their number. until: then it is normal again. */
export async function setDemoMode(sql: Sql, mode: DemoMode, only?: string, until: Date | null = null): Promise<number> {
  const schools = await sql<{ estab: string }[]>`
    select estab from establishment where connector = 'demo' ${only === undefined ? sql`` : sql`and estab = ${only}`} order by estab`;
  await sql`
    insert into connector_setting (estab, settings)
    select estab, ${sql.json({ mode, modeUntil: until?.toISOString() ?? null })} from unnest(${schools.map(({ estab }) => estab)}::text[]) as g (estab)
    on conflict (estab) do update set settings = connector_setting.settings || excluded.settings`;
  return schools.length;
}
