// In charge of noticing that a watched folder has changed, from names, sizes and times alone, without reading a file.
import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Of the CSV files and zips directly in the folder, so not of writeback/. Undefined when it cannot be read now. */
export async function fingerprintFolder(folder: string): Promise<string | undefined> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    const names = entries.filter((entry) => entry.isFile() && /\.(csv|zip)$/.test(entry.name)).map((entry) => entry.name).sort();
    const hash = createHash('sha256');
    for (const name of names) {
      const { size, mtimeNs } = await stat(join(folder, name), { bigint: true });
      hash.update(`${name}\0${size}\0${mtimeNs}\n`);
    }
    return hash.digest('hex');
  } catch {
    return undefined;
  }
}
