// A small filled database: a school and an application that may read all of it. Tests of upgrades begin with it, and a release stores a backup
// of it, from which later versions test their upgrade.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addApplication } from '../src/access/applications.ts';
import { authorise } from '../src/access/authorisations.ts';
import { addEstablishment } from '../src/access/establishments.ts';
import { scopeNames } from '../src/access/scopes.ts';
import { createSeal } from '../src/access/seal.ts';
import { writeBackup } from '../src/backup/write-backup.ts';
import { setConnector, type ConnectorSetup } from '../src/collection/connector-settings.ts';
import { openCsvSource } from '../src/collection/connectors/csv/csv-source.ts';
import { importRoster } from '../src/collection/import.ts';
import { readConfig } from '../src/config.ts';
import type { Db } from '../src/db/connect.ts';
import { migrate } from '../src/db/migrate.ts';
import { withEmptyDatabase } from './generate.ts';
import { testSecretKey } from './service.ts';
import { smallPackage } from './small-school.ts';

export const dumpPassphrase = 'the same for every release';

export type Secrets = { clientId: string; clientSecret: string; schoolSecret: string };

/** Migrates the database and adds a school and an application that may read all of it. */
export async function prepareSchool(db: Db, { estab, rp, connector }: { estab: string; rp: string; connector?: ConnectorSetup }): Promise<Secrets> {
  const seal = createSeal([testSecretKey]);
  await migrate(db);
  await addEstablishment(db, { estab, name: 'A School', email: 'office@s1.example' });
  if (connector) await db.begin((tx) => setConnector(tx, seal, estab, connector));
  const application = await addApplication(db, seal, {
    rp, name: 'An application', callbackUrl: 'http://127.0.0.1:9/', scopes: scopeNames.join(','), redirectUris: [],
  });
  const { schoolSecret } = await authorise(db, { rp, estab });
  return { ...application, schoolSecret };
}

/** Writes a backup of the database with an imported roster. */
export async function writeDump(file: string): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'schoolbell-dump-'));
  try {
    await withEmptyDatabase(async (url, db) => {
      const config = readConfig({ DATABASE_URL: url, SECRET_KEY: testSecretKey, DATA_DIR: dataDir });
      await prepareSchool(db, { estab: 'S1', rp: 'app' });
      await importRoster(db, async () => openCsvSource(smallPackage()), {
        estab: 'S1', dataDir, partial: false, force: false, shrinkLimitPercent: config.shrinkLimitPercent,
      });
      await writeBackup({ db, config, passphrase: dumpPassphrase, file });
    });
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}
