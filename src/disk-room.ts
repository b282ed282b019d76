// In charge of how much room there is on the disk of a folder, also of one that is not there yet.
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

/** In bytes, for whoever runs this. */
export type DiskRoom = Readonly<{ free: number; size: number }>;

export async function readDiskRoom(folder: string): Promise<DiskRoom | undefined> {
  const disk = await statfs(folder).catch(() => undefined);
  if (disk) return { free: disk.bavail * disk.bsize, size: disk.blocks * disk.bsize };
  return dirname(folder) === folder ? undefined : readDiskRoom(dirname(folder));
}
