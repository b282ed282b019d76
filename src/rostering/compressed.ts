// In charge of whole lists that go out compressed: the copy of each school's file, made once, while it is read for the first time.
import { compressList, gzipBytes, joinBlocks, toBlocks, type Blocks } from '../roster/compressed-list.ts';
import { streamBytes } from '../roster/list-file.ts';
import type { Held, ListFolder } from '../roster/list-folder.ts';
import type { CompressedList, Encoding } from '../roster/list-source.ts';
import type { Part } from './parts.ts';
import type { Wrapper } from './render.ts';

/** Undefined where not all of it is in files. */
export async function openCompressed(
  folder: ListFolder,
  parts: readonly Part[],
  encoding: Encoding,
  wrapper: Wrapper,
): Promise<CompressedList | undefined> {
  const sources: Source[] = [];
  const close = () => {
    for (const { held } of sources) held.release();
  };
  for (const part of parts) {
    if (part.count === 0) continue;
    const source = await findSource(folder, part, encoding);
    if (!source) {
      close();
      return undefined;
    }
    sources.push(source);
  }
  const [only, ...others] = sources;
  if (!only || (encoding === 'zstd' && others.length > 0)) {
    close();
    return undefined;
  }
  const around = encoding === 'gzip' ? [toBlocks(wrapper.before), ...others.map(() => comma), toBlocks(wrapper.behind)] : [];
  const isReady = sources.every(({ isCopy }) => isCopy);
  const framing = encoding === 'gzip' ? gzipBytes + around.reduce((sum, { bytes }) => sum + lengthOf(bytes as readonly Buffer[]), 0) : 0;
  return {
    length: isReady ? sources.reduce((sum, { held }) => sum + held.file.length, framing) : undefined,
    close,
    async *bytes(tell) {
      const counts = new Map<string, number>();
      const note = ({ part }: Source) => counts.set(part.target.estab, part.count);
      try {
        if (encoding === 'zstd') {
          note(only);
          yield* copyOf(folder, only, encoding, wrapper);
        } else yield* joinBlocks(blocks(folder, sources, around, note));
      } finally {
        tell(counts);
      }
    },
  };
}

type Source = Readonly<{ part: Part; held: Held; isCopy: boolean; copy: string }>;

const comma = toBlocks(Buffer.from(','));
const nothing: Wrapper = { before: Buffer.alloc(0), behind: Buffer.alloc(0) };
const lengthOf = (all: readonly Buffer[]) => all.reduce((sum, { length }) => sum + length, 0);

async function findSource(folder: ListFolder, part: Part, encoding: Encoding): Promise<Source | undefined> {
  if (part.file === undefined) return undefined;
  const copy = `${part.file}.${encoding}`;
  for (const name of [copy, part.file]) {
    const held = await folder.hold(name);
    if (held?.file.end.count === part.count) return { part, held, isCopy: name === copy, copy };
    held?.release();
  }
  return undefined;
}

function* blocks(folder: ListFolder, sources: readonly Source[], around: readonly Blocks[], note: (source: Source) => unknown): Generator<Blocks> {
  for (const [at, source] of sources.entries()) {
    yield around[at] as Blocks;
    note(source);
    const { plainLength, plainCrc } = source.held.file.end;
    yield { bytes: copyOf(folder, source, 'gzip', nothing), plainLength, plainCrc };
  }
  yield around.at(-1) as Blocks;
}

async function* copyOf(folder: ListFolder, { part, held, isCopy, copy }: Source, encoding: Encoding, around: Wrapper): AsyncGenerator<Buffer> {
  try {
    if (isCopy) yield* streamBytes(held.file);
    else yield* compressList(encoding, held.file, around, await folder.begin(copy, { alone: true }));
  } catch (error) {
    await folder.discard(isCopy ? copy : (part.file ?? ''), error as Error);
    throw error;
  }
}
