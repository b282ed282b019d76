// In charge of bringing together what belongs together and stands in several files, however large they are: each entry goes to the
// partition of its key, and one partition at a time is read back.
import { text } from 'node:stream/consumers';
import type { SpoolFile } from './spool.ts';

/** So much of the files is joined in memory, where it takes about thirty times as much. */
const partitionBytes = 4 * 1024 ** 2;
/** Each is an open file. */
const mostPartitions = 128;
const writtenAtOnce = 64 * 1024;

export type Partitions<T> = Readonly<{
  add(key: string, entry: T): void;
  /** To be called now and then. */
  flush(): Promise<void>;
  /** In the order in which they were added; each only once. What was undefined in a list is null then, unless all are in memory. */
  read(): AsyncGenerator<T[]>;
}>;

/** bytes: of all that will be added, as far as one knows. */
export async function openPartitions<T>(bytes: number, openSpool: () => Promise<SpoolFile>): Promise<Partitions<T>> {
  const count = Math.min(mostPartitions, Math.ceil(bytes / partitionBytes));
  if (count <= 1) return holdInMemory();
  const files: { spool: SpoolFile; pending: string }[] = [];
  for (let at = 0; at < count; at += 1) files.push({ spool: await openSpool(), pending: '' });
  const write = async (least: number) => {
    for (const file of files) {
      if (file.pending.length < least) continue;
      const lines = file.pending;
      file.pending = '';
      await file.spool.write(lines);
    }
  };
  return {
    add(key, entry) {
      const file = files[hashOf(key) % count];
      if (file) file.pending += `${JSON.stringify(entry)}\n`;
    },
    flush: () => write(writtenAtOnce),
    async *read() {
      await write(1);
      for (const { spool } of files) {
        const lines = (await text(spool.read())).split('\n');
        await spool.close();
        lines.pop();
        yield lines.map((line) => JSON.parse(line) as T);
      }
    },
  };
}

function holdInMemory<T>(): Partitions<T> {
  let entries: T[] = [];
  return {
    add: (_, entry) => void entries.push(entry),
    flush: async () => {},
    async *read() {
      const all = entries;
      entries = [];
      yield all;
    },
  };
}

/** FNV-1a. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at += 1) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
