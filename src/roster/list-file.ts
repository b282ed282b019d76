// In charge of the bytes of a list file: finished records separated by commas, behind them where each begins, and at the end what the
// file must hold. Whatever is not as the end says is no list.
import { constants, open, type FileHandle } from 'node:fs/promises';
import { read } from 'node:fs';
import { crc32 } from 'node:zlib';
import { notePassing } from '../give-back.ts';

/** Some finished records separated by commas, and how many bytes each has. */
export type Piece = Readonly<{ bytes: Buffer; lengths: readonly number[] }>;

/** The file is damaged, or was cut while it was read. */
export class ListFileBroken extends Error {}

/** Some of what was read is not what was written, and nobody knows which. */
export class ListDamaged extends ListFileBroken {}

/** It is longer than a list file can be, or than there is room for. */
export class NoRoom extends Error {}

const magic = 0x31_6c_62_73;
const endBytes = 24;
const bytesPerRecord = Uint32Array.BYTES_PER_ELEMENT;
/** Where a record begins must fit. */
const mostBytes = 2 ** 32 - 2;
const bytesPerRead = 256 * 1024;

/** plain: length and CRC-32 of what the bytes are when they are not compressed. indexCrc: of the index, or of the bytes where they are compressed. */
export type ListEnd = Readonly<{ plainLength: number; plainCrc: number; count: number; indexCrc: number }>;

export function encodeEnd({ plainLength, plainCrc, count, indexCrc }: ListEnd): Buffer {
  const fields = Uint32Array.of(plainLength, plainCrc, count, indexCrc, magic);
  const bytes = Buffer.from(fields.buffer);
  return Buffer.concat([bytes, Buffer.from(Uint32Array.of(crc32(bytes)).buffer)]);
}

function decodeEnd(bytes: Buffer): ListEnd {
  const [plainLength = 0, plainCrc = 0, count = 0, indexCrc = 0, mark, crc] = new Uint32Array(bytes.buffer, bytes.byteOffset, endBytes / 4);
  if (mark !== magic || crc !== crc32(bytes.subarray(0, endBytes - 4))) throw new ListFileBroken('its end is not that of a list');
  return { plainLength, plainCrc, count, indexCrc };
}

/** One that is open. Whoever has got it may read it to its end, whatever becomes of its name. */
export type ListFile = Readonly<{
  handle: FileHandle;
  /** Of the records, or of what they are compressed to. */
  length: number;
  end: ListEnd;
  /** Where each record begins, and where one more would; none where they are compressed. */
  starts: Uint32Array;
}>;

/** compressed: without an index, since no record can be found in it. */
export async function openListFile(path: string, { compressed } = { compressed: false }): Promise<ListFile> {
  const handle = await open(path, constants.O_RDONLY);
  try {
    const { size } = await handle.stat();
    if (size < endBytes) throw new ListFileBroken('it has no end');
    const end = decodeEnd(await readAt(handle.fd, size - endBytes, endBytes));
    if (compressed) return { handle, end, length: size - endBytes, starts: new Uint32Array(0) };
    return { handle, end, ...(await readIndex(handle.fd, end, size)) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function readIndex(fd: number, { plainLength, count, indexCrc }: ListEnd, size: number): Promise<Pick<ListFile, 'length' | 'starts'>> {
  const indexBytes = (count + 1) * bytesPerRecord;
  if (size !== plainLength + indexBytes + endBytes) throw new ListFileBroken('it is not as long as its end says');
  const index = await readAt(fd, plainLength, indexBytes);
  if (crc32(index) !== indexCrc) throw new ListFileBroken('its index is damaged');
  return { length: plainLength, starts: new Uint32Array(index.buffer, index.byteOffset, count + 1) };
}

/** The records from one to before another, separated by commas, behind `before` bytes and before `behind` that are left free. */
export async function readRecords({ handle, starts }: ListFile, from: number, to: number, before = 0, behind = 0): Promise<Buffer> {
  if (from >= to) return Buffer.alloc(before + behind);
  const start = starts[from] ?? 0;
  const length = (starts[to] ?? 0) - 1 - start;
  const bytes = Buffer.allocUnsafe(before + length + behind);
  notePassing(bytes.length);
  await fill(handle.fd, bytes, before, length, start);
  if (bytes[before] !== openBrace || bytes[before + length - 1] !== closeBrace) throw new ListFileBroken('no record is where the index says');
  // What a disk has lost is zeros, which no JSON has.
  if (bytes.subarray(before, before + length).includes(0)) throw new ListFileBroken('some of it is lost');
  return bytes;
}

const [openBrace, closeBrace] = ['{'.charCodeAt(0), '}'.charCodeAt(0)];

/** Records from one to before another, in pieces of about as many bytes as are read at once; the last of all is not given if they are not as written. */
export async function* readPieces(file: ListFile, from: number, to: number): AsyncGenerator<{ bytes: Buffer; count: number }> {
  const isWhole = from === 0 && to === file.end.count;
  let crc = 0;
  for (let at = from; at < to; ) {
    const next = nextPlace(file, at, to);
    const bytes = await readRecords(file, at, next);
    if (isWhole) crc = crc32(bytes, at === 0 ? 0 : crc32(',', crc));
    if (isWhole && next === to && crc !== file.end.plainCrc) throw new ListDamaged('its records are damaged');
    yield { bytes, count: next - at };
    at = next;
  }
}

function nextPlace({ starts }: ListFile, from: number, to: number): number {
  const end = (starts[from] ?? 0) + bytesPerRead;
  let [low, high] = [from + 1, to];
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if ((starts[middle] ?? 0) <= end) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** All its bytes, in pieces, the last of which is not given if they are not what was written. */
export async function* streamBytes({ handle, length, end, starts }: ListFile): AsyncGenerator<Buffer> {
  const expected = starts.length === 0 ? end.indexCrc : end.plainCrc;
  let crc = 0;
  for (let at = 0; at < length; ) {
    const bytes = await readAt(handle.fd, at, Math.min(bytesPerRead, length - at));
    notePassing(bytes.length);
    crc = crc32(bytes, crc);
    at += bytes.length;
    if (at === length && crc !== expected) throw new ListDamaged('its bytes are damaged');
    yield bytes;
  }
}

/** The sourcedId of a record, with which each begins. */
export async function readSourcedId(file: ListFile, at: number): Promise<string> {
  const start = file.starts[at] ?? 0;
  const length = (file.starts[at + 1] ?? 0) - 1 - start;
  for (const bytes of [Math.min(length, 128), length]) {
    const [, id] = /^\{"sourcedId":("(?:[^"\\]|\\.)*")/.exec((await readAt(file.handle.fd, start, bytes)).toString()) ?? [];
    if (id !== undefined) return JSON.parse(id) as string;
  }
  throw new ListFileBroken('no record is where the index says');
}

async function readAt(fd: number, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(length);
  await fill(fd, bytes, 0, length, position);
  return bytes;
}

async function fill(fd: number, bytes: Buffer, offset: number, length: number, position: number): Promise<void> {
  for (let done = 0; done < length; ) {
    const count = await readSome(fd, bytes, offset + done, length - done, position + done);
    if (count === 0) throw new ListFileBroken('it ends too early');
    done += count;
  }
}

function readSome(fd: number, bytes: Buffer, offset: number, length: number, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    read(fd, bytes, offset, length, position, (error, count) => (error ? reject(error) : resolve(count)));
  });
}

/** Takes records in their order, and in the end says what they were. */
export class ListWriter {
  readonly #handle: FileHandle;
  readonly #room: number;
  #starts = new Uint32Array(1024);
  #count = 0;
  #length = 0;
  #crc = 0;

  /** room: how many bytes the file may have. */
  constructor(handle: FileHandle, room: number) {
    this.#handle = handle;
    this.#room = room;
  }

  async add({ bytes, lengths }: Piece): Promise<void> {
    if (lengths.length === 0) return;
    let at = this.#length === 0 ? 0 : this.#length + 1;
    for (const length of lengths) {
      this.#note(at);
      at += length + 1;
    }
    await this.#write(bytes);
  }

  /** Records of another file as they are. */
  async copy(file: ListFile, from: number, to: number): Promise<void> {
    if (from >= to) return;
    const [start, end] = [file.starts[from] ?? 0, (file.starts[to] ?? 0) - 1];
    const by = (this.#length === 0 ? 0 : this.#length + 1) - start;
    for (let at = from; at < to; at += 1) this.#note((file.starts[at] ?? 0) + by);
    let separate = true;
    for (let at = start; at < end; ) {
      const bytes = Math.min(bytesPerRead * 4, end - at);
      const copied = await readAt(file.handle.fd, at, bytes);
      if (copied.includes(0)) throw new ListFileBroken('some of it is lost');
      await this.#write(copied, separate);
      separate = false;
      at += bytes;
    }
  }

  async end(): Promise<void> {
    this.#note(this.#length === 0 ? 0 : this.#length + 1);
    const index = Buffer.from(this.#starts.buffer, 0, this.#count * bytesPerRecord);
    await writeAll(this.#handle, [index, encodeEnd({ plainLength: this.#length, plainCrc: this.#crc, count: this.#count - 1, indexCrc: crc32(index) })]);
  }

  async #write(bytes: Buffer, separate = true): Promise<void> {
    const comma = separate && this.#length > 0;
    const length = this.#length + bytes.length + 1;
    if (length > mostBytes || length + (this.#count + 1) * bytesPerRecord + endBytes > this.#room) throw new NoRoom('the list is too long for a file');
    if (comma) this.#crc = crc32(',', this.#crc);
    this.#crc = crc32(bytes, this.#crc);
    this.#length += bytes.length + Number(comma);
    await writeAll(this.#handle, comma ? [commaBytes, bytes] : [bytes]);
  }

  #note(start: number): void {
    if (this.#count === this.#starts.length) {
      const larger = new Uint32Array(this.#starts.length * 2);
      larger.set(this.#starts);
      this.#starts = larger;
    }
    this.#starts[this.#count] = start;
    this.#count += 1;
  }
}

const commaBytes = Buffer.from(',');

export async function writeAll(handle: FileHandle, buffers: readonly Buffer[]): Promise<void> {
  const length = buffers.reduce((sum, buffer) => sum + buffer.length, 0);
  const { bytesWritten } = await handle.writev(buffers);
  if (bytesWritten === length) return;
  const rest = Buffer.concat(buffers).subarray(bytesWritten);
  for (let done = 0; done < rest.length; ) done += (await handle.write(rest, done)).bytesWritten;
}
