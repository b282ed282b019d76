// In charge of the demo: on first start one synthetic school and one application that it authorises, and at every
// start the lines with which a newcomer makes the first requests.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addApplication, rotateApplicationSecret, type ApplicationSecretKind, type NewApplication } from './access/applications.ts';
import { authorise } from './access/authorisations.ts';
import { addEstablishment } from './access/establishments.ts';
import { scopeNames } from './access/scopes.ts';
import type { Seal } from './access/seal.ts';
import { findMatch, type SecretKind } from './access/secrets.ts';
import { setConnector } from './collection/connector-settings.ts';
import { openCsvSource } from './collection/connectors/csv/csv-source.ts';
import { demoPackage } from './collection/connectors/demo/demo-package.ts';
import { demoEstablishment } from './collection/connectors/demo/school.ts';
import { importRoster } from './collection/import.ts';
import type { Config } from './config.ts';
import { createFolder } from './data-dir.ts';
import type { Db } from './db/connect.ts';

export type DemoCredentials = {
  estab: string;
  rp: string;
  clientId: string;
  clientSecret: string;
  managementSecret: string;
  signingSecret: string;
  schoolSecret: string;
};

const rp = 'demo.example';
const advisoryLock = 5_219_004;

export async function prepareDemo(db: Db, seal: Seal, config: Config): Promise<DemoCredentials> {
  const connection = await db.reserve();
  try {
    // Several processes may start at once; one of them loads the demo.
    await connection`select pg_advisory_lock(${advisoryLock})`;
    await loadSchool(db, seal, config);
    return await renewCredentials(db, seal, config);
  } finally {
    await connection`select pg_advisory_unlock(${advisoryLock})`.catch(() => {});
    connection.release();
  }
}

/** Loaded before the first request is answered; from then on the worker collects it like any other school. */
async function loadSchool(db: Db, seal: Seal, config: Config): Promise<void> {
  const { estab } = demoEstablishment;
  const [known] = await db<
    { version: number; connector: string | null }[]
  >`select r.version, e.connector from establishment e join roster_standing r using (estab) where estab = ${estab}`;
  if (!known) await addEstablishment(db, demoEstablishment);
  if (known && known.version > 0 && known.connector === 'demo') return;
  await db.begin((tx) => setConnector(tx, seal, estab, { kind: 'demo' }));
  const report = await importRoster(db, () => openCsvSource(demoPackage(new Date())), {
    estab,
    dataDir: config.dataDir,
    partial: false,
    force: true,
    kind: 'demo',
    shrinkLimitPercent: config.shrinkLimitPercent,
  });
  if (report.outcome === 'refused') throw new Error(`the demo school did not load: ${JSON.stringify(report.problems[0])}`);
}

const fileOf = (config: Config) => join(config.dataDir, 'demo.json');

/** Secrets are shown once: one that the file has lost, or that has ended, is replaced; the application and what it has registered stay. */
async function renewCredentials(db: Db, seal: Seal, config: Config): Promise<DemoCredentials> {
  const { estab } = demoEstablishment;
  const kept = readKept(config);
  const [known] = await db<{ clientId: string }[]>`select client_id as "clientId" from application where rp = ${rp}`;
  const application = known ? undefined : await addDemoApplication(db, seal);
  await db`update application set demo = true where rp = ${rp} and not demo`;
  const secrets = await db<{ kind: string; hash: Uint8Array }[]>`
    select kind, hash from application_secret where rp = ${rp} and (valid_until is null or valid_until > now())
    union all select 'school', hash from school_secret where estab = ${estab} and rp = ${rp} and (valid_until is null or valid_until > now())`;
  const findKept = (kind: SecretKind, given: string | undefined) =>
    given !== undefined && findMatch(given, secrets.filter((one) => one.kind === kind)) ? given : undefined;
  const own = async (kind: ApplicationSecretKind, given: string | undefined) => findKept(kind, given) ?? (await rotateApplicationSecret(db, seal, rp, kind));
  const credentials: DemoCredentials = {
    estab,
    rp,
    clientId: application?.clientId ?? known?.clientId ?? '',
    clientSecret: application?.clientSecret ?? (await own('client', kept.clientSecret)),
    managementSecret: application?.managementSecret ?? (await own('management', kept.managementSecret)),
    signingSecret: application?.signingSecret ?? (await own('signing', kept.signingSecret)),
    schoolSecret: findKept('school', kept.schoolSecret) ?? (await authorise(db, { rp, estab })).schoolSecret,
  };
  if (JSON.stringify(credentials) !== JSON.stringify(kept)) keep(credentials, config);
  return credentials;
}

function readKept(config: Config): Partial<DemoCredentials> {
  try {
    return JSON.parse(readFileSync(fileOf(config), 'utf8')) as DemoCredentials;
  } catch {
    return {};
  }
}

function addDemoApplication(db: Db, seal: Seal): Promise<NewApplication> {
  return addApplication(db, seal, {
    rp,
    name: 'Demo application',
    callbackUrl: 'http://127.0.0.1:8081/events',
    scopes: scopeNames.join(','),
    redirectUris: [],
    demo: true,
  });
}

function keep(credentials: DemoCredentials, config: Config): void {
  createFolder(config.dataDir);
  const half = `${fileOf(config)}.${process.pid}`;
  writeFileSync(half, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  renameSync(half, fileOf(config));
}

/** For each way of reading a line that works when pasted alone. */
export function renderDemoRequests(
  publicUrl: string,
  { estab, clientId, clientSecret, schoolSecret }: DemoCredentials,
): Readonly<Record<'variantA' | 'variantB' | 'oneRoster12', string>> {
  const request = (user: string, token: string, list: string) =>
    `curl -s -H "Authorization: Bearer $(curl -s -X POST -u '${user}' ${publicUrl}${token} | ` +
    `sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')" '${publicUrl}${list}'`;
  return {
    variantA: request(`${clientId}:${clientSecret}`, '/api/ims/oneroster/v1p1/token', '/api/ims/oneroster/v1p1/users?limit=2'),
    variantB: request(`${rp}|${estab}:${schoolSecret}`, '/ims/oneroster/v1p1/auth/token', '/ims/oneroster/v1p1/students?limit=2&filter=status=%27active%27'),
    oneRoster12: request(`${rp}|${estab}:${schoolSecret}`, '/ims/oneroster/rostering/v1p2/token', '/ims/oneroster/rostering/v1p2/teachers?limit=2'),
  };
}

export function renderDemoLines(publicUrl: string, demo: DemoCredentials): string[] {
  const { variantA, variantB, oneRoster12 } = renderDemoRequests(publicUrl, demo);
  const said = `The demo school ${demoEstablishment.name} (${demo.estab}) is loaded. Read it through either variant, or as OneRoster 1.2:`;
  return [said, '', variantA, '', variantB, '', oneRoster12, ''];
}
