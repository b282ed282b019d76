// In charge of what must lie on disk for a moment: private files under DATA_DIR that have no name, so that whatever ends
// the process takes them along. Between being made and losing its name a file is empty; such ones are swept away.
import { randomBytes } from 'node:crypto';
import { open, readdir, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createFolder } from '../data-dir.ts';
import { explainFileFault } from '../environment-fault.ts';

/** Written first, then read as often as one likes; or followed while it is written. */
export type SpoolFile = {
  /** How many bytes it holds. */
  readonly size: number;
  write(bytes: Buffer | string): Promise<void>;
  read(from?: number, to?: number): Readable;
  /** Nothing more will be written. */
  end(): void;
  /** Reads the whole file while it is still being written, until `end()`. Fails if nothing is written for `longestPauseMs`, or if `signal` aborts. */
  follow(longestPauseMs: number, signal: AbortSignal): Readable;
  close(): Promise<void>;
};

const pieceBytes = 256 * 1024;

const folderOf = (dataDir: string) => join(dataDir, 'spool');
const place = (folder: string) => `temporary import files in ${folder} (DATA_DIR)`;

export async function openSpoolFile(dataDir: string): Promise<SpoolFile> {
  const folder = folderOf(dataDir);
  return explained(folder, async () => {
    createFolder(folder, { mode: 0o700, place });
    const path = join(folder, randomBytes(12).toString('hex'));
    const file = await open(path, 'wx+', 0o600);
    // Another process may have swept it away already.
    await rm(path, { force: true });
    return new Spooled(file, folder);
  });
}

/** Restates what the system says of a full or unusable disk, with the folder and the remedy. */
function explained<T>(folder: string, work: () => Promise<T>): Promise<T> {
  return work().catch((error: unknown) => {
    throw explainFileFault(error, place(folder));
  });
}

/** What was left by a process that ended between two lines; safe at any time. */
export async function sweepSpool(dataDir: string): Promise<void> {
  for (const name of await namesIn(folderOf(dataDir))) await rm(join(folderOf(dataDir), name), { force: true, recursive: true });
}

const namesIn = (folder: string) => readdir(folder).catch((): string[] => []);

async function within(ms: number, change: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`nothing was spooled for ${ms / 1000} s`)), ms);
  await unlessAborted(signal, Promise.race([change, promise])).finally(() => clearTimeout(timer));
}

/** Resolves as `work` does, or rejects when the signal aborts first. */
export async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', abort));
}

class Spooled implements SpoolFile {
  readonly #file: FileHandle;
  readonly #folder: string;
  #size = 0;
  #state: 'open' | 'ended' | 'closed' = 'open';
  #changed = Promise.withResolvers<void>();

  constructor(file: FileHandle, folder: string) {
    this.#file = file;
    this.#folder = folder;
  }

  get size(): number {
    return this.#size;
  }

  async write(bytes: Buffer | string): Promise<void> {
    const piece = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
    for (let at = 0; at < piece.length; ) {
      const { bytesWritten } = await explained(this.#folder, () => this.#file.write(piece, at, piece.length - at, this.#size));
      at += bytesWritten;
      this.#size += bytesWritten;
    }
    this.#tellChanged();
  }

  read(from = 0, to = this.#size): Readable {
    return Readable.from(this.#pieces(from, to), { objectMode: false, highWaterMark: pieceBytes });
  }

  end(): void {
    this.#state = 'ended';
    this.#tellChanged();
  }

  follow(longestPauseMs: number, signal: AbortSignal): Readable {
    return Readable.from(this.#following(longestPauseMs, signal), { objectMode: false, highWaterMark: pieceBytes });
  }

  #tellChanged(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  async *#following(longestPauseMs: number, signal: AbortSignal): AsyncGenerator<Buffer> {
    for (let at = 0; ; ) {
      const [size, state, changed] = [this.#size, this.#state, this.#changed.promise];
      yield* this.#pieces(at, size);
      at = size;
      if (state === 'ended') return;
      if (state === 'closed') throw new Error('the spool was closed before its end');
      await within(longestPauseMs, changed, signal);
    }
  }

  async *#pieces(from: number, to: number): AsyncGenerator<Buffer> {
    for (let at = from; at < to; ) {
      const wanted = Math.min(pieceBytes, to - at);
      const { bytesRead, buffer } = await this.#file.read(Buffer.allocUnsafe(wanted), 0, wanted, at);
      if (bytesRead === 0) throw new Error('the spool is shorter than what was written to it');
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  async close(): Promise<void> {
    if (this.#state === 'open') this.#state = 'closed';
    this.#tellChanged();
    await this.#file.close();
  }
}
