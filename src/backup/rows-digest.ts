// In charge of telling whether a table holds the same rows, in whatever order they come: a sum of the SHA-256 of each row, as COPY
// writes it. That nobody has changed the file is not its concern; the encryption sees to that.
import { hash } from 'node:crypto';

const newline = 0x0a;
const lanes = 8;

export class RowsDigest {
  rows = 0;
  bytes = 0;
  readonly #sum = new Uint32Array(lanes);
  /** The beginning of a row whose end has not come yet. */
  #open: Buffer[] = [];

  /** A line break inside a value is escaped in COPY's text: each one ends a row. */
  take(bytes: Buffer): void {
    this.bytes += bytes.length;
    let from = 0;
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, from)) {
      const piece = bytes.subarray(from, end + 1);
      this.#add(this.#open.length === 0 ? piece : Buffer.concat([...this.#open, piece]));
      if (this.#open.length > 0) this.#open = [];
      from = end + 1;
    }
    // A copy of its own: the reader may use its memory again.
    if (from < bytes.length) this.#open.push(Buffer.from(bytes.subarray(from)));
  }

  #add(row: Buffer): void {
    const digest = hash('sha256', row, 'buffer');
    for (let lane = 0; lane < lanes; lane += 1) this.#sum[lane] = (this.#sum[lane] ?? 0) + digest.readUInt32LE(4 * lane);
    this.rows += 1;
  }

  /** A row that was not ended is no row. */
  get value(): string {
    return `${this.#open.length > 0 ? 'unended ' : ''}${Buffer.from(this.#sum.buffer).toString('hex')}`;
  }
}
