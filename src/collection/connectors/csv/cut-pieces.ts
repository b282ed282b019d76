// In charge of cutting a file into pieces by what is in it: the same rows are the same pieces wherever they stand, so that of a file that
// hardly changed most pieces are known. A piece ends with a line; whether that ends a record too is for whoever reads it to notice.

/** One line in so many ends a piece. */
const linesInPiece = 64;
/** Whatever is in it. */
const largestPiece = 1024 * 1024;
const [newLine, quote] = [0x0a, 0x22];

/** last: of what is left at the end, which may be nothing. */
export type Piece = Readonly<{ bytes: Buffer; last: boolean }>;

export async function* cutPieces(stream: AsyncIterable<Buffer>): AsyncGenerator<Piece> {
  let parts: Buffer[] = [];
  let [size, hash, quoted] = [0, 0, false];
  for await (const bytes of stream) {
    let from = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      if (byte === quote) quoted = !quoted;
      const ends = byte === newLine && !quoted && hash % linesInPiece === 0;
      // FNV-1a of the line.
      hash = byte === newLine ? 0 : Math.imul(hash ^ byte, 0x01000193);
      if (!ends && size + at - from < largestPiece) continue;
      parts.push(bytes.subarray(from, at + 1));
      yield { bytes: Buffer.concat(parts), last: false };
      [parts, size, from] = [[], 0, at + 1];
    }
    if (from < bytes.length) parts.push(bytes.subarray(from));
    size += bytes.length - from;
  }
  yield { bytes: Buffer.concat(parts), last: true };
}
