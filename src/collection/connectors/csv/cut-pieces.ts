// In charge of cutting a file into pieces by what is in it: the same rows are the same pieces wherever they stand, so that of a file that
// hardly changed most pieces are known. A piece ends with a line; whether that ends a record too is for whoever reads it to notice.

/** One line in so many ends a piece. */
const linesInPiece = 64;
/** Where lines are all alike; where none ends a piece. */
const [smallestPiece, largestPiece] = [1024, 1024 * 1024];
/** So much of a line decides, which is more than its id. */
const decidingBytes = 64;
const [newLine, quote] = [0x0a, 0x22];

/** last: of what is left at the end, which may be nothing. */
export type Piece = Readonly<{ bytes: Buffer; last: boolean }>;

export async function* cutPieces(stream: AsyncIterable<Buffer>): AsyncGenerator<Piece> {
  let data: Buffer = Buffer.alloc(0);
  // Where the next line begins, and whether within quotes.
  let [at, quoted] = [0, false];
  for await (const bytes of stream) {
    data = data.length === 0 ? bytes : Buffer.concat([data, bytes]);
    let [from, quoteAt] = [0, data.indexOf(quote, at)];
    for (let end = data.indexOf(newLine, at); end >= 0; end = data.indexOf(newLine, at)) {
      for (; quoteAt >= 0 && quoteAt < end; quoteAt = data.indexOf(quote, quoteAt + 1)) quoted = !quoted;
      const ends = !quoted && end - from >= smallestPiece && hashOf(data, at, end) % linesInPiece === 0;
      at = end + 1;
      if (!ends && at - from < largestPiece) continue;
      yield { bytes: data.subarray(from, at), last: false };
      from = at;
    }
    if (data.length - from >= largestPiece) {
      yield { bytes: data.subarray(from), last: false };
      [from, at] = [data.length, data.length];
    }
    data = data.subarray(from);
    at -= from;
  }
  yield { bytes: data, last: true };
}

/** FNV-1a of how a line begins. */
function hashOf(data: Buffer, from: number, end: number): number {
  let hash = 0;
  for (let at = from; at < end && at < from + decidingBytes; at += 1) hash = Math.imul(hash ^ (data[at] as number), 0x01000193);
  return hash ^ (hash >>> 15);
}
