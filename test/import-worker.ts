// In charge of an import process that tests can lose: it imports a folder into a school, and kills itself when it is about
// to ask the database something like what it is told, while it reads the file it is told, or when it is done.
import { subscribe } from 'node:diagnostics_channel';
import { Readable } from 'node:stream';
import { parseArgs } from 'node:util';
import { openCsvSource } from '../src/collection/connectors/csv/csv-source.ts';
import { openPackage, type CsvPackage } from '../src/collection/connectors/csv/package.ts';
import { importRoster } from '../src/collection/import.ts';
import { readConfig } from '../src/config.ts';
import { connect } from '../src/db/connect.ts';

const text = { type: 'string' } as const;
const { values: told } = parseArgs({
  options: { estab: { ...text, default: '' }, folder: { ...text, default: '' }, asking: { ...text, default: '' }, reading: { ...text, default: '' } },
});
const config = readConfig();

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('a moment later');
}

if (told.asking !== '')
  subscribe('schoolbell:statement', (message) => {
    if ((message as { text: string }).text.includes(told.asking)) die();
  });

/** The same package, but the file that is told ends the process when it has been read to its end. */
function deadly(opened: CsvPackage): CsvPackage {
  const files = [...opened.files].map(([name, file]) => {
    const open = async () => {
      const bytes = await file.open();
      return Readable.from(
        (async function* all() {
          yield* bytes;
          die();
        })(),
        { objectMode: false },
      );
    };
    return [name, name === told.reading ? { ...file, open } : file] as const;
  });
  return { ...opened, files: new Map(files) };
}

const db = connect(config.databaseUrls?.[0] ?? '', { max: 2, name: 'lost import' });
await importRoster(db, async () => openCsvSource(deadly(await openPackage(told.folder))), {
  estab: told.estab,
  dataDir: config.dataDir,
  partial: false,
  force: true,
  shrinkLimitPercent: config.shrinkLimitPercent,
});
die();
