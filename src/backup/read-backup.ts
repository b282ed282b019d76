// In charge of reading a backup to its end: opened, unpacked, and held against what its own end says has to be there. Whoever gets
// its contents has them of a file that is whole.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdDecompress } from 'node:zlib';
import { explainFileFault } from '../environment-fault.ts';
import { DamagedBackup, openAge } from './age.ts';
import { entryNames, formatVersion, parsePartName, type End, type Head, type TableFacts } from './format.ts';
import { sha256, type KeptFile } from './kept-files.ts';
import { RowsDigest } from './rows-digest.ts';
import { unpackEntries, type Entry } from './tar.ts';

/** As much as is unpacked at a time: with less of it, more time goes into asking. */
const chunkBytes = 256 * 1024;

export type BackupContents = Readonly<{ head: Head; end: End; keys: readonly string[]; files: readonly KeptFile[] }>;

export type ReadParts = {
  /** The name of a file, or its bytes. */
  source: string | AsyncIterable<Uint8Array>;
  passphrase: string;
  signal?: AbortSignal | undefined;
  /** Is given each piece of a table, in order; of a file whose end is not known yet. */
  onRows?: (table: string, bytes: Buffer) => Promise<void>;
};

export async function readBackup({ source, passphrase, signal, onRows = async () => {} }: ReadParts): Promise<BackupContents> {
  const bytes = typeof source === 'string' ? await openFile(source) : source;
  const reading = new Reading(onRows);
  try {
    await pipeline(
      bytes,
      (sealed: AsyncIterable<Uint8Array>) => openAge(sealed, passphrase),
      createZstdDecompress({ chunkSize: chunkBytes }),
      async (packed: AsyncIterable<Uint8Array>) => {
        for await (const entry of unpackEntries(packed)) await reading.take(entry);
      },
      { signal },
    );
  } catch (error) {
    if (!isDecompressing(error)) throw typeof source === 'string' ? explainFileFault(error, source, 'input') : error;
    throw new DamagedBackup(`the backup does not unpack: ${error.message}`, error);
  }
  return reading.finish();
}

async function openFile(name: string): Promise<Readable> {
  const found = await stat(name).catch((error: unknown) => {
    throw explainFileFault(error, name, 'input');
  });
  if (!found.isFile()) throw explainFileFault({ code: 'EISDIR' }, name, 'input');
  return createReadStream(name);
}

const isDecompressing = (error: unknown): error is Error => /^(ZSTD_|Z_)/.test(String((error as { code?: unknown }).code));

class Reading {
  readonly #onRows: NonNullable<ReadParts['onRows']>;
  readonly #tables = new Map<string, RowsDigest & { parts?: number }>();
  readonly #files: KeptFile[] = [];
  #head: Head | undefined;
  #keys: readonly string[] | undefined;
  #end: End | undefined;

  constructor(onRows: NonNullable<ReadParts['onRows']>) {
    this.#onRows = onRows;
  }

  async take({ name, bytes }: Entry): Promise<void> {
    if (this.#end) throw new DamagedBackup('something follows the end of the backup');
    if (name === entryNames.head) this.#head = requireFormat(parseJson<Head>(name, bytes));
    else if (!this.#head) throw new DamagedBackup('this is no backup of Schoolbell: it does not begin with its head');
    else if (name === entryNames.keys) this.#keys = parseJson<string[]>(name, bytes);
    else if (name === entryNames.end) this.#end = parseJson<End>(name, bytes);
    else if (name.startsWith(entryNames.files)) this.#files.push({ name: name.slice(entryNames.files.length), bytes: Buffer.from(bytes) });
    else await this.#takePart(name, bytes);
  }

  async #takePart(name: string, bytes: Buffer): Promise<void> {
    const part = parsePartName(name);
    if (!part) throw new DamagedBackup(`the backup holds ${JSON.stringify(name)}, which does not belong there`);
    const digest = this.#tables.get(part.table) ?? new RowsDigest();
    this.#tables.set(part.table, digest);
    digest.take(bytes);
    await this.#onRows(part.table, bytes);
  }

  finish(): BackupContents {
    const [head, keys, end] = [this.#head, this.#keys, this.#end];
    if (!head || !keys || !end) throw new DamagedBackup('the backup has no end');
    const listed = new Set(end.tables.map(({ name }) => name));
    for (const table of end.tables) requireSame(table, this.#tables.get(table.name) ?? new RowsDigest(), 'the backup');
    const stranger = [...this.#tables.keys()].find((name) => !listed.has(name));
    const files = this.#files.map(({ name, bytes }) => ({ name, bytes: bytes.length, sha256: sha256(bytes) }));
    if (stranger !== undefined || JSON.stringify(files) !== JSON.stringify(end.files)) throw new DamagedBackup('the backup does not hold what its end lists');
    return { head, end, keys, files: this.#files };
  }
}

/** where: what holds these rows. */
export function requireSame({ name, rows, bytes, digest }: TableFacts, found: RowsDigest, where: string): void {
  if (found.rows !== rows) throw new DamagedBackup(`${where} has ${found.rows} rows of ${name}, not ${rows}`);
  if (found.bytes !== bytes || found.value !== digest) throw new DamagedBackup(`${where} has other rows of ${name} than were backed up`);
}

function requireFormat(head: Head): Head {
  if (head.product !== 'schoolbell') throw new DamagedBackup('this is no backup of Schoolbell');
  if (head.format > formatVersion)
    throw new DamagedBackup(`this backup was written by Schoolbell ${head.version}, in a format that this version does not read; install that one`);
  return head;
}

function parseJson<T>(name: string, bytes: Buffer): T {
  try {
    return JSON.parse(bytes.toString('utf8')) as T;
  } catch (error) {
    throw new DamagedBackup(`${name} of the backup cannot be read`, error);
  }
}
