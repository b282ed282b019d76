// Stores a package that was imported by command and waits for approval, like one that was uploaded, so that a decision, by command or on the
// school's page, is about exactly this package.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Db } from '../db/connect.ts';
import { openPackage } from './connectors/csv/package.ts';
import { findHeld } from './held.ts';
import { openSpoolFile, type SpoolFile } from './spool.ts';
import { insertPackage, largestUpload, type UploadLimits } from './uploads.ts';

/** The result of storing a package. `replaced`: the import no longer waits, because a newer one replaced it or a person decided about it. */
export type Keeping = 'kept' | 'too large' | 'replaced';

/** `id` is that of the import: while its package is read, a newer import may begin to wait in its place. */
export async function keepHeldPackage(db: Db, estab: string, id: string, path: string, limits: UploadLimits): Promise<Keeping> {
  const { dataDir, largest = largestUpload } = limits;
  const file = await openSpoolFile(dataDir);
  try {
    await ((await stat(path)).isDirectory() ? packFolder(path, file, largest) : copy(createReadStream(path), file, largest));
    if (file.size > largest) return 'too large';
    return await db.begin(async (tx) => {
      const held = await findHeld(tx, estab);
      if (held?.id !== id) return 'replaced';
      await tx`delete from upload where estab = ${estab} and created_at <= ${held.at}`;
      await insertPackage(tx, estab, file, held.at);
      return 'kept';
    });
  } finally {
    await file.close();
  }
}

async function packFolder(path: string, file: SpoolFile, largest: number): Promise<void> {
  const { default: yazl } = await import('yazl');
  const zip = new yazl.ZipFile();
  const opened = await openPackage(path);
  for (const { name } of opened.files.values()) zip.addFile(`${path}/${name}`, name);
  zip.end();
  await copy(zip.outputStream, file, largest);
}

/** What is too large is not read to its end. */
async function copy(bytes: AsyncIterable<unknown>, file: SpoolFile, largest: number): Promise<void> {
  for await (const chunk of bytes) {
    await file.write(chunk as Buffer);
    if (file.size > largest) return;
  }
}
