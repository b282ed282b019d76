// In charge of making lists ready as files behind the callers' backs: at once where an earlier version's file can be carried on, else when
// a list is asked for again. One at a time; what fails is tried again when it is asked for again.
import type { Prefer } from '../db/replicas.ts';
import { beginKeeping, toPiece, type Keeping } from '../roster/keep-list.ts';
import type { ListFolder } from '../roster/list-folder.ts';
import { isPast } from './as-of.ts';
import { isOfOwnRows } from './list-view.ts';
import type { Part } from './parts.ts';
import type { Question } from './question.ts';
import { findVersion } from './render.ts';
import { createRemembered } from './remembered.ts';
import { spliceList } from './splice-list.ts';
import { openRun, type Reader } from './statements.ts';
import type { Target } from './visibility.ts';

export type ListMaker = {
  /** A page of this part was asked for, and there was no file. */
  want(question: Question, part: Part): void;
  /** Until nothing is being made. */
  idle(): Promise<void>;
  close(): Promise<void>;
};

type Wanted = { question: Question; part: Part & { file: string }; again: boolean };

const mostWaiting = 2_000;
const rememberedBytes = 1024 * 1024;

/** What came to nothing, because the roster moved say, is not begun again for so long. */
const restMs = 60_000;

export function createListMaker(prefer: Prefer<Reader>, folder: ListFolder, now: () => number = Date.now): ListMaker {
  /** Since when a file that was asked for once may be made. */
  const asked = createRemembered<number>(rememberedBytes);
  const waiting = new Map<string, Wanted>();
  let working: Promise<void> | undefined;
  let closed = false;

  async function work(): Promise<void> {
    for (const [file, wanted] of waiting) {
      if (closed) break;
      // Nobody waits for it: what is wrong is wrong for those who ask, too, and they are told.
      const made = await prefer((reader) => make(reader, wanted)).catch(() => false);
      if (!made && wanted.again) asked.set(file, now() + restMs, 8);
      waiting.delete(file);
    }
  }

  function start(): void {
    working ??= work().finally(() => {
      working = undefined;
      if (waiting.size > 0 && !closed) start();
    });
  }

  async function make(reader: Reader, { question, part, again }: Wanted): Promise<boolean> {
    const [held, version] = (await holdEarlier(reader, question, part)) ?? [];
    try {
      if (held && version !== undefined && (await keep(part, (keeping) => spliceList(reader, question, { file: held.file, version }, keeping)))) return true;
    } finally {
      held?.release();
    }
    return again && keep(part, (keeping) => readWhole(reader, question, keeping));
  }

  async function keep(part: Part & { file: string }, fill: (keeping: Keeping) => Promise<boolean>): Promise<boolean> {
    const keeping = await beginKeeping(folder, part);
    if (!keeping) return false;
    try {
      return (await fill(keeping)) && (await keeping.keep());
    } finally {
      await keeping.drop();
    }
  }

  async function readWhole(reader: Reader, question: Question, keeping: Keeping): Promise<boolean> {
    const { batches, close } = await openRun(reader, question, question.targets[0] as Target, { limit: undefined, offset: 0 });
    try {
      for await (const batch of batches) if (closed || !(await keeping.add(toPiece(batch.map(({ json }) => json))))) return false;
      return true;
    } finally {
      await close();
    }
  }

  /** The newest file of an earlier version that this one can be made from. */
  async function holdEarlier({ facts, primary }: Reader, question: Question, { target, view }: Part) {
    if (!isOfOwnRows(question, target)) return undefined;
    const versions = await facts.versions(primary, target);
    const earlier = (await folder.list())
      .filter((list) => list.rosterId === target.rosterId && list.view === view && list.compressed === undefined)
      .filter(({ version, instant }) => version < target.version && version >= target.keptFrom && findVersion(versions, version)?.instant === instant)
      .toSorted((a, b) => b.version - a.version)[0];
    const held = earlier && (await folder.hold(earlier.name));
    return held && ([held, earlier.version] as const);
  }

  return {
    want(question, part) {
      const { file, target } = part;
      if (closed || file === undefined || isPast(target) || waiting.has(file) || waiting.size >= mostWaiting) return;
      const from = asked.get(file);
      if (from !== undefined && now() < from) return;
      asked.set(file, from ?? now(), 8);
      waiting.set(file, { question: { ...question, targets: [target] }, part: { ...part, file }, again: from !== undefined });
      start();
    },
    idle: async () => working,
    async close() {
      closed = true;
      await working;
    },
  };
}
