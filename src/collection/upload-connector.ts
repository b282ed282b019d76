// The connector of an uploaded package, which is stored until it has been imported.
import { openCsvSource } from './connectors/csv/csv-source.ts';
import { openSpooledPackage } from './connectors/csv/package.ts';
import { MisError, type Connector } from './connector.ts';
import type { ConnectorParts } from './connector-settings.ts';
import { LostClaim } from './lost-claim.ts';
import { isReplaced, openUpload } from './uploads.ts';

export function createUploadConnector({ db, dataDir }: ConnectorParts, estab: string, upload: string): Connector {
  return {
    kind: 'upload',
    offers: ['SchoolData'],
    async openRoster() {
      const opened = await openUpload(db, estab, upload, dataDir);
      if (!opened && (await isReplaced(db, estab, upload))) throw new LostClaim('a newer package has come');
      if (!opened) throw new MisError('Error', 'the uploaded package is gone; upload it again', { later: false });
      const source = await openSpooledPackage(opened, 'the uploaded package').then(openCsvSource).catch(async (error: unknown) => {
        await opened.close();
        throw error;
      });
      return { ...source, close: () => source.close().finally(() => opened.close()) };
    },
  };
}
