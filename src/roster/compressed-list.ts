// In charge of compressed copies of lists, and of joining those of several schools into one answer without compressing them again: gzip
// has one stream, whose blocks may have been made apart.
import { pipeline, Readable } from 'node:stream';
import { constants, crc32, createDeflateRaw, createZstdCompress, deflateRawSync } from 'node:zlib';
import type { Encoding } from './list-source.ts';
import { joinCrc } from './join-crc.ts';
import { encodeEnd, streamBytes, writeAll, type ListFile } from './list-file.ts';
import type { Draft } from './list-folder.ts';

/** Blocks of gzip, with what they are of. */
export type Blocks = Readonly<{ bytes: AsyncIterable<Buffer> | readonly Buffer[]; plainLength: number; plainCrc: number }>;

const chunkSize = 64 * 1024;
/** The blocks end with a whole byte, and none of them is the last. */
const open = { finishFlush: constants.Z_SYNC_FLUSH, chunkSize };

/** A list, compressed as it is read, between other bytes; what comes out is kept on the way, if it can be. */
export async function* compressList(
  encoding: Encoding,
  list: ListFile,
  { before, behind }: Readonly<{ before: Buffer; behind: Buffer }>,
  draft: Draft | undefined,
): AsyncGenerator<Buffer> {
  async function* plain() {
    if (before.length > 0) yield before;
    yield* streamBytes(list);
    if (behind.length > 0) yield behind;
  }
  const compressed = pipeline(Readable.from(plain()), encoding === 'gzip' ? createDeflateRaw(open) : createZstdCompress({ chunkSize }), () => {});
  let crc = 0;
  try {
    for await (const bytes of compressed as AsyncIterable<Buffer>) {
      crc = crc32(bytes, crc);
      await draft?.attempt((handle) => writeAll(handle, [bytes]));
      yield bytes;
    }
    await draft?.attempt((handle) => writeAll(handle, [encodeEnd({ ...list.end, indexCrc: crc })]));
    await draft?.keep();
  } finally {
    await draft?.drop();
  }
}

export function toBlocks(bytes: Buffer): Blocks {
  return { bytes: [deflateRawSync(bytes, open)], plainLength: bytes.length, plainCrc: crc32(bytes) };
}

/** As the standard of gzip has it: no name, no time, no system. */
const head = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
/** An empty block that is the last. */
const last = Buffer.from([3, 0]);
const tailBytes = 8;
export const gzipBytes = head.length + last.length + tailBytes;

export async function* joinBlocks(all: Iterable<Blocks>): AsyncGenerator<Buffer> {
  let [length, crc] = [0, 0];
  yield head;
  for (const { bytes, plainLength, plainCrc } of all) {
    yield* bytes;
    crc = joinCrc(crc, plainCrc, plainLength);
    length += plainLength;
  }
  const tail = Buffer.alloc(tailBytes);
  tail.writeUInt32LE(crc, 0);
  tail.writeUInt32LE(length % 2 ** 32, 4);
  yield Buffer.concat([last, tail]);
}
