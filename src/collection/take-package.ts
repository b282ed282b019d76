// In charge of a package that somebody gives on a page: whether it may be taken, and from when on packages are the source.
import type { Seal } from '../access/seal.ts';
import type { Db, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { setConnector } from './connector-settings.ts';
import { openCsvSource } from './connectors/csv/csv-source.ts';
import { openSpooledPackage } from './connectors/csv/package.ts';
import { SourceError } from './problem.ts';
import type { SpoolFile } from './spool.ts';
import { takeUpload, type UploadLimits } from './uploads.ts';

export type PackageParts = Readonly<{ db: Db; seal: Seal; uploads: UploadLimits }>;
/** change: from now on packages take the place of a provider. partial: rows that break a rule are left out instead of everything being refused. */
export type Giving = Readonly<{ change: boolean; partial?: boolean }>;

/** Gives whether the source was changed by it. */
export async function takePackage(
  { db, seal, uploads }: PackageParts,
  estab: string,
  bytes: AsyncIterable<Buffer>,
  { change, partial = false }: Giving,
): Promise<boolean> {
  const [school] = await db<{ connector: string | null }[]>`select connector from establishment where estab = ${estab}`;
  const connector = school?.connector ?? null;
  const changes = connector === 'oneroster' && change;
  if (connector !== null && connector !== 'csv' && !changes)
    throw new SchoolbellError('conflict', `The data of this school comes through ${connector}; a package would be undone by the next collection.`);
  await takeUpload(db, estab, bytes, uploads, { partial, ...(changes ? { before: (tx, taken) => changeToPackages(tx, seal, estab, taken) } : {}) });
  return changes;
}

/** What cannot even be opened is no reason to leave a source that works. */
async function changeToPackages(tx: Tx, seal: Seal, estab: string, file: SpoolFile): Promise<void> {
  try {
    await (await openCsvSource(await openSpooledPackage(file, 'The package'))).close();
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    throw new SchoolbellError('invalid_request', `Nothing was changed, and the provider stays connected: ${error.message}.`);
  }
  await setConnector(tx, seal, estab, { kind: 'csv', folder: undefined });
}
