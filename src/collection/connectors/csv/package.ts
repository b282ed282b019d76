// In charge of opening a OneRoster CSV package, a zip or a folder, without trusting it: names, counts and sizes are
// checked before a byte is unpacked, and counted again while unpacking.
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import type yauzl from 'yauzl';
import { SourceError } from '../../problem.ts';
import type { SpoolFile } from '../../spool.ts';

/** watch: told of what is read of it, and of its end. */
export type PackageFile = { name: string; size: number; open(): Promise<Readable>; watch?: () => FileWatch };
export type FileWatch = Readonly<{ bytes(piece: Buffer): void; end(): void }>;
export type CsvPackage = { files: ReadonlyMap<string, PackageFile>; close(): Promise<void> };

export const maxUnpackedBytes = 8 * 1024 ** 3;
export const maxEntries = 100;
/** A megabyte that unpacks to more than this many is no roster. Text shrinks by 5 to 30 times. */
export const maxCompressionRatio = 200;
const ratioFreeBytes = 64 * 1024 ** 2;

export async function openPackage(path: string): Promise<CsvPackage> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' || error.code === 'ENOTDIR' ? new SourceError(path, 'there is no such zip or folder') : error;
  });
  if (found.isDirectory()) return openFolder(path);
  const head = await readHead(createReadStream(path, { end: headBytes - 1 }));
  return openZip(path, head, (library, ready) => library.open(path, zipOptions, ready));
}

/** A zip that was put into the spool; `name` is what a fault of it is said of. */
export async function openSpooledPackage(file: SpoolFile, name: string): Promise<CsvPackage> {
  const head = await readHead(file.read(0, Math.min(headBytes, file.size)));
  return openZip(name, head, (library, ready) => library.fromRandomAccessReader(createReader(library, file), file.size, zipOptions, ready));
}

type Library = typeof yauzl;

function createReader(library: Library, file: SpoolFile): yauzl.RandomAccessReader {
  return new (class extends library.RandomAccessReader {
    override _readStreamForRange(start: number, end: number): Readable {
      return file.read(start, end);
    }
  })();
}

async function openFolder(path: string): Promise<CsvPackage> {
  const files = new Map<string, PackageFile>();
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.csv')) continue;
    const file = join(path, entry.name);
    files.set(entry.name, { name: entry.name, size: (await stat(file)).size, open: async () => createReadStream(file, { highWaterMark: 256 * 1024 }) });
  }
  return { files, close: async () => {} };
}

const zipOptions = { lazyEntries: true, autoClose: false, validateEntrySizes: true, strictFileNames: true } as const;
type Ready = (error: Error | null, zip: yauzl.ZipFile) => void;

async function openZip(name: string, head: Buffer, open: (library: Library, ready: Ready) => void): Promise<CsvPackage> {
  const other = otherThanZip(head);
  if (other !== undefined) throw new SourceError(name, other);
  const { default: library } = await import('yauzl');
  const zip = await new Promise<yauzl.ZipFile>((resolve, reject) => {
    open(library, (error, opened) => {
      if (error) reject(new SourceError(name, cutOff));
      else resolve(opened);
    });
  });
  try {
    return { files: await listEntries(zip, name), close: async () => zip.close() };
  } catch (error) {
    zip.close();
    throw error;
  }
}

const headBytes = 512;
const cutOff = 'is not a whole zip: its end is missing or damaged, as when a transfer was cut off. Export it anew and send it again';
const whatIsRight = 'Put manifest.csv and the other CSV files of the export together into one zip, and send that';
/** How files begin that are sent by mistake. */
const beginnings: readonly (readonly [bytes: string, what: string])[] = [
  ['%PDF', 'is a PDF document, not a zip'],
  ['Rar!', 'is a RAR archive, not a zip'],
  ['7z\u00bc\u00af', 'is a 7-Zip archive, not a zip'],
  ['\u001f\u008b', 'is a gzip archive, not a zip'],
  ['\u00d0\u00cf\u0011\u00e0', 'is an old Office document, not a zip'],
];

async function readHead(bytes: Readable): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of bytes) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

/** In words, what a file is that does not begin as a zip does; nothing when it does. */
function otherThanZip(head: Buffer): string | undefined {
  if (head.length === 0) return `is empty. ${whatIsRight}`;
  const text = head.toString('latin1');
  if (text.startsWith('PK')) return undefined;
  const known = beginnings.find(([bytes]) => text.startsWith(bytes))?.[1];
  if (known) return `${known}. ${whatIsRight}`;
  // oxlint-disable-next-line no-control-regex
  const written = !/[\u0000-\u0008\u000e-\u001f]/.test(text);
  const what = !written ? 'is not a zip' : /^[^\n]*,[^\n]*\r?\n/.test(text) ? 'is a single CSV file, not a zip' : 'is a text, not a zip';
  return `${what}. ${whatIsRight}`;
}

/** An Office document is a zip too, but what is in it is no package. */
const officeParts = ['[Content_Types].xml', 'mimetype'];

function listEntries(zip: yauzl.ZipFile, path: string): Promise<Map<string, PackageFile>> {
  const files = new Map<string, PackageFile>();
  let unpacked = 0;
  if (zip.entryCount > maxEntries) throw new SourceError(path, `the zip has ${zip.entryCount} entries; at most ${maxEntries} are read`);
  return new Promise((resolve, reject) => {
    zip.on('error', (error: Error) => reject(new SourceError(path, `the zip is damaged or holds an unsafe path (${error.message})`)));
    zip.on('end', () => resolve(files));
    zip.on('entry', (entry: yauzl.Entry) => {
      const name = entry.fileName;
      if (officeParts.includes(name)) {
        reject(new SourceError(path, `is an Office document such as an Excel workbook, not a package. ${whatIsRight}`));
        return;
      }
      unpacked += entry.uncompressedSize;
      const fault = findFault(entry, unpacked, files);
      if (fault) {
        reject(new SourceError(name, fault));
        return;
      }
      if (!isJunk(name) && name.endsWith('.csv')) files.set(name, { name, size: entry.uncompressedSize, open: () => openEntry(zip, entry) });
      zip.readEntry();
    });
    zip.readEntry();
  });
}

function findFault(entry: yauzl.Entry, unpacked: number, files: ReadonlyMap<string, PackageFile>): string | undefined {
  const name = entry.fileName;
  if (isJunk(name)) return undefined;
  if (name.includes('/')) return 'the files must be at the root of the zip, not in a folder';
  if (files.has(name)) return 'the zip holds this file twice';
  if (entry.isEncrypted()) return 'the file is encrypted; send the zip without a password';
  if (unpacked > maxUnpackedBytes) return `the zip would unpack to more than ${maxUnpackedBytes / 1024 ** 3} GiB`;
  if (entry.uncompressedSize > ratioFreeBytes && entry.uncompressedSize > entry.compressedSize * maxCompressionRatio)
    return `the file would unpack to more than ${maxCompressionRatio} times its size`;
  return undefined;
}

/** What desktop systems add to a zip. */
function isJunk(name: string): boolean {
  return name.startsWith('__MACOSX/') || name.endsWith('/') || name.endsWith('.DS_Store');
}

function openEntry(zip: yauzl.ZipFile, entry: yauzl.Entry): Promise<Readable> {
  return new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => {
      if (error) reject(new SourceError(entry.fileName, `cannot be unpacked (${error.message})`));
      else resolve(stream.compose(createChecksum(entry)) as Readable);
    });
  });
}

/** Passes bytes on and ends with an error when they are not those that were packed. */
function createChecksum(entry: yauzl.Entry) {
  return async function* check(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let sum = 0;
    for await (const chunk of bytes) {
      sum = crc32(chunk, sum);
      yield chunk;
    }
    if (sum !== entry.crc32) throw new SourceError(entry.fileName, 'is damaged: its checksum is not the one in the zip');
  };
}
