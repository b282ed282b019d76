// In charge of the folder of list files: which there are, how much room they take over all processes, and which of them are open here.
// They are copies: any may be missing at any time, and what cannot be read or written is told once and done without.
import { mkdir, open, readdir, rename, stat, unlink, utimes, type FileHandle } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { ListFileBroken, NoRoom, openListFile, type ListFile } from './list-file.ts';

/** Says that files cannot be used, and why; the service goes on without. */
export type TellTrouble = (error: Error, words: string) => void;

/** What a file is of, as its name says it. */
export type NamedList = Readonly<{ rosterId: string; version: number; instant: number; view: string; compressed: string | undefined }>;

/** A file that is being read; whoever has it gives it back. */
export type Held = Readonly<{ file: ListFile; release(): void }>;

/** One that is being written, under a name of its own until it is kept. What fails ends it, and is told. */
export type Draft = {
  /** How many bytes it may have. */
  room: number;
  /** False where it has come to nothing. */
  attempt(work: (handle: FileHandle) => Promise<unknown>): Promise<boolean>;
  keep(): Promise<boolean>;
  drop(): Promise<void>;
};

export type ListFolder = {
  /** Undefined where there is none that is whole. */
  hold(name: string): Promise<Held | undefined>;
  /** Undefined where none can be written now; with `alone`, also where this process is writing it already. */
  begin(name: string, how?: { alone: boolean }): Promise<Draft | undefined>;
  /** What was found damaged goes. */
  discard(name: string, why?: Error): Promise<void>;
  list(): Promise<(NamedList & { name: string })[]>;
  /** Removes what nobody is to have any more, and what was left half made; lets go of what is gone. */
  sweep(isWanted: (list: NamedList, usedAt: number) => boolean): Promise<void>;
  close(): Promise<void>;
};

export type FolderParts = { folder: string; maxBytes: number; now?: () => number; tell?: TellTrouble };

const unfinished = '.part';
/** A dot, what tells drafts of one name apart, and the ending. */
const unfinishedCharacters = 1 + 36 + unfinished.length;
const unfinishedMs = 10 * 60_000;
const touchedEveryMs = 60_000;
const toldEveryMs = 60_000;
const countedEveryMs = 10_000;
/** After a failure nothing is written for so long. */
const restMs = 60_000;
const mostOpen = 1024;
const mostTooLarge = 1024;
const mostIndexBytes = 24 * 1024 * 1024;

type Opened = { file: ListFile; readers: number; gone: boolean; touchedAt: number };

export const listName = ({ rosterId, version, instant, view, compressed }: NamedList): string =>
  `${rosterId}.${version}.${instant}.${view}${compressed === undefined ? '' : `.${compressed}`}`;

export function parseListName(name: string): NamedList | undefined {
  const [, rosterId = '', version, instant, view = '', compressed] = /^([\da-f-]{36})\.(\d+)\.(\d+)\.([\w-]+)(?:\.(gzip|zstd))?$/.exec(name) ?? [];
  return rosterId === '' ? undefined : { rosterId, version: Number(version), instant: Number(instant), view, compressed };
}

export function createListFolder({ folder, maxBytes, now = Date.now, ...parts }: FolderParts): ListFolder {
  const opened = new Map<string, Promise<Opened | undefined>>();
  let indexBytes = 0;
  let restUntil = 0;
  let closed = false;
  /** What is larger than all may be, by the names that were tried last. */
  const tooLarge = new Set<string>();
  const writing = new Map<string, number>();
  let counted = { bytes: 0, at: -Infinity };
  const told = new Map<string, number>();

  function tell(error: Error, words: string): void {
    if (now() - (told.get(words) ?? -Infinity) < toldEveryMs) return;
    told.set(words, now());
    parts.tell?.(error, words);
  }

  async function hold(name: string): Promise<Held | undefined> {
    if (closed || maxBytes === 0) return undefined;
    let opening = opened.get(name);
    if (opening) opened.delete(name);
    else opening = openOne(name);
    opened.set(name, opening);
    const one = await opening;
    if (!one) {
      if (opened.get(name) === opening) opened.delete(name);
      return undefined;
    }
    if (one.gone) return hold(name);
    one.readers += 1;
    touch(name, one);
    if (opened.size > mostOpen || indexBytes > mostIndexBytes) void letGoOldest();
    let released = false;
    return {
      file: one.file,
      release: () => {
        if (released) return;
        released = true;
        one.readers -= 1;
        closeUnread(one);
      },
    };
  }

  async function openOne(name: string): Promise<Opened | undefined> {
    try {
      const file = await openListFile(join(folder, name), { compressed: parseListName(name)?.compressed !== undefined });
      indexBytes += file.starts.byteLength;
      return { file, readers: 0, gone: false, touchedAt: 0 };
    } catch (error) {
      if (error instanceof ListFileBroken) await discard(name, error);
      else if (codeOf(error) !== 'ENOENT') tell(error as Error, 'A list file cannot be read; lists are read from the database instead.');
      return undefined;
    }
  }

  /** By when it was used last, what is used least goes first. */
  function touch(name: string, one: Opened): void {
    if (now() - one.touchedAt < touchedEveryMs) return;
    one.touchedAt = now();
    utimes(join(folder, name), new Date(now()), new Date(now())).catch(() => {});
  }

  async function letGoOldest(): Promise<void> {
    for (const [name] of opened) {
      if (opened.size <= mostOpen && indexBytes <= mostIndexBytes) return;
      if (opened.size === 1) return;
      await letGo(name);
    }
  }

  async function letGo(name: string): Promise<void> {
    const opening = opened.get(name);
    opened.delete(name);
    const one = await opening;
    if (!one || one.gone) return;
    one.gone = true;
    indexBytes -= one.file.starts.byteLength;
    closeUnread(one);
  }

  function closeUnread({ gone, readers, file }: Opened): void {
    if (gone && readers === 0) void file.handle.close().catch(() => {});
  }

  async function discard(name: string, why?: Error): Promise<void> {
    if (why) tell(why, 'A list file is damaged and was removed; the list is read from the database instead.');
    if (opened.has(name)) void letGo(name);
    await unlink(join(folder, name)).catch(() => {});
  }

  async function begin(name: string, { alone } = { alone: false }): Promise<Draft | undefined> {
    if (closed || maxBytes === 0 || now() < restUntil || tooLarge.has(name)) return undefined;
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
        if (error instanceof NoRoom) noteTooLarge(name);
        else {
          restUntil = now() + restMs;
          tell(error as Error, 'A list file cannot be written; lists are read from the database instead.');
        }
      }
      return handle !== undefined;
    };
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      handle = await open(path, 'wx', 0o600);
    } catch (error) {
      noteWritten(name);
      restUntil = now() + restMs;
      tell(error as Error, 'A list file cannot be written; lists are read from the database instead.');
      return undefined;
    }
    return {
      room: maxBytes,
      attempt,
      drop,
      async keep() {
        let isKept = false;
        await attempt(async (open) => {
          // Before it has its name, or a power cut could leave a name without what it names.
          await open.datasync();
          if (closed || !(await hasRoom((await open.stat()).size))) return;
          await rename(path, join(folder, name));
          isKept = true;
        });
        await drop();
        return isKept;
      },
    };
  }

  function noteWritten(name: string): void {
    const others = (writing.get(name) ?? 1) - 1;
    if (others > 0) writing.set(name, others);
    else writing.delete(name);
  }

  function noteTooLarge(name: string): void {
    tooLarge.add(name);
    for (const oldest of tooLarge) {
      if (tooLarge.size <= mostTooLarge) break;
      tooLarge.delete(oldest);
    }
  }

  /** All files are looked at now and then, and whenever what this process has written since might be too much. */
  async function hasRoom(written: number): Promise<boolean> {
    counted.bytes += written;
    if (now() - counted.at < countedEveryMs && counted.bytes < maxBytes / 8) return true;
    return makeRoom();
  }

  /** Over all that any process has here, unfinished ones included. */
  async function makeRoom(): Promise<boolean> {
    const files = await sizes();
    let held = files.reduce((sum, { size }) => sum + size, 0);
    for (const { name, size } of files.filter((one) => !one.name.endsWith(unfinished)).toSorted((a, b) => a.usedAt - b.usedAt)) {
      if (held <= maxBytes) break;
      await discard(name);
      held -= size;
    }
    counted = { bytes: held, at: now() };
    return held <= maxBytes;
  }

  async function sizes(): Promise<{ name: string; size: number; usedAt: number }[]> {
    const found = await Promise.all(
      (await names()).map(async (name) => {
        const at = await stat(join(folder, name)).catch(() => undefined);
        return at ? [{ name, size: at.size, usedAt: at.mtimeMs }] : [];
      }),
    );
    return found.flat();
  }

  async function names(): Promise<string[]> {
    return readdir(folder).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') tell(error as Error, 'The folder of list files cannot be read; lists are read from the database instead.');
      return [];
    });
  }

  return {
    hold,
    begin,
    discard,
    list: async () =>
      (await names()).flatMap((name) => {
        const list = parseListName(name);
        return list ? [{ ...list, name }] : [];
      }),
    async sweep(isWanted) {
      for (const { name, usedAt } of await sizes()) {
        const isUnfinished = name.endsWith(unfinished);
        const list = parseListName(isUnfinished ? name.slice(0, -unfinishedCharacters) : name);
        if (!list || !isWanted(list, usedAt) || (isUnfinished && now() - usedAt > unfinishedMs)) await discard(name);
      }
      await makeRoom();
      // Meanwhile others are opened, and used again: those need not be looked at.
      const before = [...opened];
      for (const [name, opening] of before) {
        const one = await opening;
        if (one && (await one.file.handle.stat().catch(() => undefined))?.nlink !== 1) await letGo(name);
      }
    },
    async close() {
      closed = true;
      await Promise.all([...opened.keys()].map(letGo));
    },
  };
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
