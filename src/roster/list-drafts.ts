// In charge of list files that are being written: each under a name of its own until it is kept, so that a name never has less than a
// whole list. What fails ends a draft and is told; after a failure nothing is written for a while.
import { open, rename, unlink, type FileHandle } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createFolder } from '../data-dir.ts';
import { NoRoom } from './list-file.ts';

/** One that is being written, under a name of its own until it is kept. What fails ends it, and is told. */
export type Draft = {
  /** How many bytes it may have. */
  room: number;
  /** False where it has come to nothing. */
  attempt(work: (handle: FileHandle) => Promise<unknown>): Promise<boolean>;
  keep(): Promise<boolean>;
  drop(): Promise<void>;
};

export type Drafts = {
  /** Undefined where none can be written now; with `alone`, also where this process is writing it already. */
  begin(name: string, how?: { alone: boolean }): Promise<Draft | undefined>;
  /** None is kept any more. */
  close(): void;
};

/** room: how many bytes each may have. hasRoom: whether all may be as many, with those of one that is to be kept. */
export type DraftsParts = {
  folder: string;
  room: number;
  hasRoom(name: string, bytes: number): Promise<boolean>;
  now(): number;
  tell(error: Error, words: string): void;
};

const unfinished = '.part';
/** A dot, what tells drafts of one name apart, and the ending. */
const unfinishedCharacters = 1 + 36 + unfinished.length;
/** After a failure nothing is written for so long. */
const restMs = 60_000;
/** What found no room beside those that are in use is not begun again for so long. */
const crowdedMs = 5 * 60_000;
const mostWithoutRoom = 1024;

export const isDraft = (name: string): boolean => name.endsWith(unfinished);
/** The name that it would have been kept under. */
export const draftedName = (name: string): string => name.slice(0, -unfinishedCharacters);

export function createDrafts({ folder, room, hasRoom, now, tell }: DraftsParts): Drafts {
  let restUntil = 0;
  let closed = false;
  /** Until when there is no room for what was tried last, by its name; for ever, where it is larger than all may be. */
  const withoutRoom = new Map<string, number>();
  const writing = new Map<string, number>();

  async function begin(name: string, { alone } = { alone: false }): Promise<Draft | undefined> {
    if (closed || now() < restUntil || now() < (withoutRoom.get(name) ?? 0)) return undefined;
    const others = writing.get(name) ?? 0;
    if (alone && others > 0) return undefined;
    writing.set(name, others + 1);
    let isWriting = true;
    const path = join(folder, `${name}.${randomUUID()}${unfinished}`);
    let handle: FileHandle | undefined;
    const drop = async () => {
      const open = handle;
      handle = undefined;
      if (isWriting) noteWritten(name);
      isWriting = false;
      await open?.close().catch(() => {});
      await unlink(path).catch(() => {});
    };
    const attempt = async (work: (open: FileHandle) => Promise<unknown>): Promise<boolean> => {
      try {
        if (handle) await work(handle);
      } catch (error) {
        await drop();
        if (error instanceof NoRoom) noteNoRoom(name, Infinity);
        else noteFailure(error as Error);
      }
      return handle !== undefined;
    };
    try {
      createFolder(folder, { mode: 0o700 });
      handle = await open(path, 'wx', 0o600);
    } catch (error) {
      noteWritten(name);
      noteFailure(error as Error);
      return undefined;
    }
    return {
      room,
      attempt,
      drop,
      async keep() {
        let isKept = false;
        await attempt(async (open) => {
          // Before it has its name, or a power cut could leave a name without what it names.
          await open.datasync();
          if (closed) return;
          if (!(await hasRoom(name, (await open.stat()).size))) return noteNoRoom(name, now() + crowdedMs);
          await rename(path, join(folder, name));
          isKept = true;
        });
        await drop();
        return isKept;
      },
    };
  }

  function noteFailure(error: Error): void {
    restUntil = now() + restMs;
    tell(error, 'A list file cannot be written; lists are read from the database instead.');
  }

  function noteWritten(name: string): void {
    const others = (writing.get(name) ?? 1) - 1;
    if (others > 0) writing.set(name, others);
    else writing.delete(name);
  }

  function noteNoRoom(name: string, until: number): void {
    withoutRoom.delete(name);
    withoutRoom.set(name, until);
    for (const oldest of withoutRoom.keys()) {
      if (withoutRoom.size <= mostWithoutRoom) break;
      withoutRoom.delete(oldest);
    }
  }

  return {
    begin,
    close() {
      closed = true;
    },
  };
}
