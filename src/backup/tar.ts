// In charge of the archive inside a backup: plain files with short names in the format of ustar, which every tar reads.
import { EnvironmentFault } from '../environment-fault.ts';
import { DamagedBackup } from './age.ts';

export type Entry = { name: string; bytes: Buffer };

const block = 512;
const [longestName, largestEntry] = [100, 256 * 1024 * 1024];
const sumAt = { from: 148, to: 156 } as const;

export async function* packEntries(entries: AsyncIterable<Entry>, writtenAt: Date): AsyncGenerator<Buffer> {
  for await (const { name, bytes } of entries) {
    yield headerOf(name, bytes.length, writtenAt);
    yield bytes;
    yield Buffer.alloc(padding(bytes.length));
  }
  yield Buffer.alloc(2 * block);
}

const padding = (size: number) => (block - (size % block)) % block;

function headerOf(name: string, size: number, writtenAt: Date): Buffer {
  if (Buffer.byteLength(name) > longestName || size > largestEntry) 
    throw new EnvironmentFault(`${name} in DATA_DIR (${size} bytes) does not fit into a backup. Move it to another folder`);
  const header = Buffer.alloc(block);
  const octal = (value: number, at: number, digits: number) => header.write(value.toString(8).padStart(digits, '0'), at);
  header.write(name);
  octal(0o600, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(size, 124, 11);
  octal(Math.floor(writtenAt.getTime() / 1000), 136, 11);
  header.write('0', 156);
  header.write('ustar\u000000', 257);
  octal(sumOf(header), sumAt.from, 6);
  header.write('\0 ', 154);
  return header;
}

/** As if its own field held spaces. */
function sumOf(header: Buffer): number {
  return header.reduce((sum, byte, at) => sum + (at >= sumAt.from && at < sumAt.to ? 32 : byte), 0);
}

/** One entry at a time, each whole. */
export async function* unpackEntries(source: AsyncIterable<Uint8Array>): AsyncGenerator<Entry> {
  let [held, size] = [[] as Uint8Array[], 0];
  let entry: Header | undefined;
  let ended = false;
  const wanted = () => (entry ? entry.size + padding(entry.size) : block);
  for await (const bytes of source) {
    held.push(bytes);
    size += bytes.length;
    if (size < wanted()) continue;
    let rest: Buffer = Buffer.concat(held);
    while (rest.length >= wanted()) {
      const taken = rest.subarray(0, wanted());
      rest = rest.subarray(taken.length);
      if (entry) {
        const { name } = entry;
        yield { name, bytes: taken.subarray(0, entry.size) };
        entry = undefined;
      } else if (taken.every((byte) => byte === 0)) {
        ended = true;
      } else {
        if (ended) throw new DamagedBackup('something follows the end of the backup');
        entry = readHeader(taken);
      }
    }
    [held, size] = [[rest], rest.length];
  }
  if (!ended || size > 0 || entry) throw new DamagedBackup('the backup ends in the midst of it');
}

type Header = { name: string; size: number };

function readHeader(header: Buffer): Header {
  const text = (from: number, to: number) => header.toString('utf8', from, to).replace(/[\0 ].*$/s, '');
  const [size, sum] = [Number.parseInt(text(124, 136), 8), Number.parseInt(header.toString('latin1', sumAt.from, sumAt.to), 8)];
  if (sum !== sumOf(header) || text(257, 263) !== 'ustar' || text(156, 157) !== '0' || !(size <= largestEntry))
    throw new DamagedBackup('this is no backup of Schoolbell: what it holds is no archive of plain files');
  // A name may hold spaces.
  return { name: header.toString('utf8', 0, longestName).replace(/\0.*$/s, ''), size };
}
