// In charge of lists in the order of the schools, each school by itself: a slice of its file where there is one, else rows of the database, which
// become a file as they go by.
import type { Prefer } from '../db/replicas.ts';
import { isBusy } from '../db/snapshot.ts';
import { beginKeeping, toPiece, type Keeping } from '../roster/keep-list.ts';
import { ListDamaged, readPieces, readRecords, type ListFile } from '../roster/list-file.ts';
import type { Held, ListFolder } from '../roster/list-folder.ts';
import type { ListPiece, ListSource, Margins, OpenList, Page } from '../roster/list-source.ts';
import { isPast } from './as-of.ts';
import { openCompressed } from './compressed.ts';
import type { ListMaker } from './make-lists.ts';
import { sliceParts, type FindParts, type Part, type Parts, type Slice } from './parts.ts';
import type { Question } from './question.ts';
import { asItStands } from './read-again.ts';
import { joinPage } from './render.ts';
import { openRun, readPages, type OpenRun, type Reader } from './statements.ts';
import type { Target } from './visibility.ts';

/** Where lists are kept as files, and who makes them ready. */
export type ListFiles = { folder: ListFolder; maker: ListMaker };
export type Reading = Reader & {
  findParts: FindParts;
  files: ListFiles | undefined;
  /** For what is read after something has been sent. */
  prefer: Prefer<Reader>;
};

/** A page over more schools than these is read from the database rather than from so many files. */
const mostFilesAPage = 16;
/** Within which other readers of whole lists have ended, or have been cut off. */
const longestWaitMs = 2 * 60_000;
/** Of several schools with fewer than these on average, parts are not worth files. */
const fewestInFile = 100;

export function bySchool(reading: Reading, question: Question, findParts: () => Promise<Parts>, files: ListFiles | undefined): ListSource {
  async function page({ limit, offset }: { limit: number; offset: number }, margins: Margins): Promise<Page & { total: number }> {
    const { total, parts } = await findParts();
    const slices = sliceParts(parts, offset, Math.min(total, offset + limit));
    const missing: Part[] = [];
    const found = (files && (await pageFromFiles(files, slices, margins, missing))) ?? (await pageFromRows(slices, margins));
    // Only now: whoever asked for the page need not wait beside the making of a file.
    for (const part of missing) files?.maker.want(question, part);
    return { ...found, total };
  }

  /** Says which files are missing where there is no page because of that. */
  async function pageFromFiles({ folder }: ListFiles, slices: readonly Slice[], margins: Margins, missing: Part[]): Promise<Page | undefined> {
    if (slices.length > mostFilesAPage) return undefined;
    const held = await Promise.all(slices.map((slice) => hold(folder, slice)));
    try {
      if (held.every((one) => one !== undefined)) return await readSlices(slices, held, margins);
      missing.push(...slices.filter((_, at) => held[at] === undefined).map(({ part }) => part));
    } catch (error) {
      for (const { part } of slices) if (part.file !== undefined) await folder.discard(part.file, error as Error);
    } finally {
      for (const one of held) one?.release();
    }
    return undefined;
  }

  async function pageFromRows(slices: readonly Slice[], margins: Margins): Promise<Page> {
    const pages = await readPages(reading, question, slices.map((slice) => ({ target: slice.part.target, paging: pagingOf(slice) })));
    return joinPage(pages.flatMap(({ records }) => records), margins);
  }

  async function open({ limit, offset }: { limit: number | undefined; offset: number }): Promise<OpenList> {
    const { total, parts } = await findParts();
    const steps = await planSteps(files?.folder, sliceParts(parts, offset, limit === undefined ? total : Math.min(total, offset + limit)), isWorthFiles(parts));
    let current: OpenRun | undefined;
    const openPart = async (reader: Reader, { part, ...slice }: Slice, target = part.target) => {
      current = await openRun(reader, question, target, pagingOf({ part, ...slice }));
    };
    const first = steps[0];
    if (first && !first.file) await openPart(reading, first.slice);
    return {
      total,
      length: steps.every(({ file }) => file) ? steps.reduce((sum, { bytes }) => sum + bytes, Math.max(0, steps.length - 1)) : undefined,
      pieces: readSteps(),
      close: async () => current?.close(),
    };

    async function* readSteps(): AsyncGenerator<ListPiece> {
      for (const step of steps) {
        const rest = step.file && files ? yield* readFile(files.folder, step.slice) : step.slice;
        if (!rest) continue;
        if (step !== first || step.file) {
          const openNow = (target: Target) => reading.prefer((reader) => openPart(reader, rest, target));
          await whenFree(() => asItStands(reading.primary, rest.part.target, openNow), reading.over);
        }
        if (current) yield* readRun(files?.folder, current, rest, isWorthFiles(parts));
        await current?.close();
      }
    }
  }

  /** What was not read, because the file is gone or damaged. */
  async function* readFile(folder: ListFolder, slice: Slice): AsyncGenerator<ListPiece, Slice | undefined> {
    const held = await hold(folder, slice);
    if (!held) return slice;
    let at = slice.from;
    try {
      for await (const { bytes, count } of readPieces(held.file, slice.from, slice.to)) {
        yield { bytes, count, estab: slice.part.target.estab };
        at += count;
      }
    } catch (error) {
      await folder.discard(slice.part.file ?? '', error as Error);
      // What went out already may be wrong.
      if (error instanceof ListDamaged) throw error;
    } finally {
      held.release();
    }
    return at < slice.to ? { ...slice, from: at } : undefined;
  }

  return {
    total: async () => (await findParts()).total,
    page,
    open,
    async openCompressed(encoding, wrapper) {
      const { total, parts } = await findParts();
      const list = files && (await openCompressed(files.folder, parts, encoding, wrapper));
      return list && { ...list, total };
    },
  };
}

/** Where others have all connections: who has begun to send waits, since a list that is broken off is read from its beginning again. */
async function whenFree<T>(work: () => Promise<T>, over: AbortSignal | undefined): Promise<T> {
  const begun = performance.now();
  for (;;) {
    over?.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error) || performance.now() - begun > longestWaitMs) throw error;
    }
  }
}

/** file: whether there is one to read it from. */
type Step = Readonly<{ file: boolean; slice: Slice; bytes: number }>;

async function planSteps(folder: ListFolder | undefined, slices: readonly Slice[], isWorth: boolean): Promise<Step[]> {
  const steps: Step[] = [];
  for (const slice of slices) {
    const held = folder && isWorth ? await hold(folder, slice) : undefined;
    steps.push({ file: held !== undefined, slice, bytes: held ? bytesOf(held.file, slice) : 0 });
    held?.release();
  }
  return steps;
}

function isWorthFiles(parts: readonly Part[]): boolean {
  return parts.length === 1 || parts.reduce((sum, { count }) => sum + count, 0) >= parts.length * fewestInFile;
}

async function hold(folder: ListFolder, { part }: Slice): Promise<Held | undefined> {
  const held = part.file === undefined ? undefined : await folder.hold(part.file);
  if (!held || held.file.end.count === part.count) return held;
  held.release();
  await folder.discard(part.file ?? '', new Error(`it holds ${held.file.end.count} records instead of ${part.count}`));
  return undefined;
}

async function readSlices(slices: readonly Slice[], held: readonly Held[], { before, behind }: Margins): Promise<Page> {
  const counts = new Map(slices.map(({ part, from, to }) => [part.target.estab, to - from]));
  const [only, ...others] = slices;
  if (!only) return { bytes: Buffer.alloc(before + behind), counts };
  const first = held[0] as Held;
  if (others.length === 0) return { bytes: await readRecords(first.file, only.from, only.to, before, behind), counts };
  const all = await Promise.all(slices.map(({ from, to }, at) => readRecords((held[at] as Held).file, from, to)));
  const joined = all.flatMap((bytes, at) => (at === 0 ? [bytes] : [comma, bytes]));
  return { bytes: Buffer.concat([Buffer.alloc(before), ...joined, Buffer.alloc(behind)]), counts };
}

const comma = Buffer.from(',');

const bytesOf = ({ starts }: ListFile, { from, to }: Slice): number => (starts[to] ?? 0) - 1 - (starts[from] ?? 0);

const pagingOf = ({ from, to }: Slice) => ({ limit: to - from, offset: from });

/** A whole part becomes a file on the way. */
async function* readRun(folder: ListFolder | undefined, { batches }: OpenRun, slice: Slice, isWorth: boolean): AsyncGenerator<ListPiece> {
  let keeping = folder && isWorth ? await keepWhole(folder, slice) : undefined;
  try {
    for await (const batch of batches) {
      const piece = toPiece(batch.map(({ json }) => json));
      if (keeping && !(await keeping.add(piece))) keeping = undefined;
      yield { bytes: piece.bytes, count: batch.length, estab: slice.part.target.estab };
    }
    await keeping?.keep();
  } finally {
    await keeping?.drop();
  }
}

async function keepWhole(folder: ListFolder, { part, from, to }: Slice): Promise<Keeping | undefined> {
  const { file, count, target } = part;
  return file === undefined || isPast(target) || from > 0 || to < count ? undefined : beginKeeping(folder, { file, count }, { alone: true });
}
