// In charge of a package that was given by command and is held: it is kept like one that was uploaded, so that whoever
// decides, here or on the school's page, decides on exactly this one.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Db } from '../db/connect.ts';
import { openPackage } from './connectors/csv/package.ts';
import { findHeld } from './held.ts';
import { openSpoolFile, type SpoolFile } from './spool.ts';
import { insertPackage, largestUpload } from './uploads.ts';

/** Gives whether it is kept: one that is larger than any upload is not. */
export async function keepHeldPackage(db: Db, estab: string, path: string, dataDir: string): Promise<boolean> {
  const file = await openSpoolFile(dataDir);
  try {
    await ((await stat(path)).isDirectory() ? packFolder(path, file) : copy(createReadStream(path), file));
    if (file.size > largestUpload) return false;
    return await db.begin(async (tx) => {
      const held = await findHeld(tx, estab);
      if (held?.kind !== 'command') return false;
      await tx`delete from upload where estab = ${estab} and created_at <= ${held.at}`;
      await insertPackage(tx, estab, file, held.at);
      return true;
    });
  } finally {
    await file.close();
  }
}

async function packFolder(path: string, file: SpoolFile): Promise<void> {
  const { default: yazl } = await import('yazl');
  const zip = new yazl.ZipFile();
  const opened = await openPackage(path);
  for (const { name } of opened.files.values()) zip.addFile(`${path}/${name}`, name);
  zip.end();
  await copy(zip.outputStream, file);
}

/** What is too large is not read to its end. */
async function copy(bytes: AsyncIterable<unknown>, file: SpoolFile): Promise<void> {
  for await (const chunk of bytes) {
    await file.write(chunk as Buffer);
    if (file.size > largestUpload) return;
  }
}
