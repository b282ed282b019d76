// In charge of the folder of list files: which there are, and how much room they take over all processes. They are copies: any may be
// missing at any time, and what cannot be read or written is told once and done without.
import { readdir, stat, unlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { createDrafts, draftedName, isDraft, type Drafts } from './list-drafts.ts';
import { ListFileBroken, openListFile, type ListFile } from './list-file.ts';
import { createOpenLists, type Held } from './open-lists.ts';

export type { Draft } from './list-drafts.ts';
export type { Held } from './open-lists.ts';

/** Says that files cannot be used, and why; the service goes on without. */
export type TellTrouble = (error: Error, words: string) => void;

/** What a file is of, as its name says it. */
export type NamedList = Readonly<{ rosterId: string; version: number; instant: number; view: string; compressed: string | undefined }>;

export type ListFolder = {
  /** Undefined where there is none that is whole. */
  hold(name: string): Promise<Held | undefined>;
  begin: Drafts['begin'];
  /** What was found damaged goes. */
  discard(name: string, why?: Error): Promise<void>;
  list(): Promise<(NamedList & { name: string })[]>;
  /** Removes what nobody is to have any more, and what was left half made; lets go of what is gone. */
  sweep(isWanted: (list: NamedList, usedAt: number) => boolean): Promise<void>;
  close(): Promise<void>;
};

export type FolderParts = { folder: string; maxBytes: number; now?: () => number; tell?: TellTrouble };

const unfinishedMs = 10 * 60_000;
const toldEveryMs = 60_000;
const countedEveryMs = 10_000;
/** What was used within this time is in use. */
const inUseMs = 5 * 60_000;

type Sized = Readonly<{ name: string; size: number; usedAt: number }>;

export const listName = ({ rosterId, version, instant, view, compressed }: NamedList): string =>
  `${rosterId}.${version}.${instant}.${view}${compressed === undefined ? '' : `.${compressed}`}`;

export function parseListName(name: string): NamedList | undefined {
  const [, rosterId = '', version, instant, view = '', compressed] = /^([\da-f-]{36})\.(\d+)\.(\d+)\.([\w-]+)(?:\.(gzip|zstd))?$/.exec(name) ?? [];
  return rosterId === '' ? undefined : { rosterId, version: Number(version), instant: Number(instant), view, compressed };
}

export function createListFolder({ folder, maxBytes, now = Date.now, ...parts }: FolderParts): ListFolder {
  const opened = createOpenLists({ open, touch, now });
  const drafts = createDrafts({ folder, room: maxBytes, hasRoom, now, tell });
  let closed = false;
  let counted = { bytes: 0, at: -Infinity };
  const told = new Map<string, number>();

  function tell(error: Error, words: string): void {
    if (now() - (told.get(words) ?? -Infinity) < toldEveryMs) return;
    told.set(words, now());
    parts.tell?.(error, words);
  }

  async function open(name: string): Promise<ListFile | undefined> {
    try {
      return await openListFile(join(folder, name), { compressed: parseListName(name)?.compressed !== undefined });
    } catch (error) {
      if (error instanceof ListFileBroken) await discard(name, error);
      else if (codeOf(error) !== 'ENOENT') tell(error as Error, 'A list file cannot be read; lists are read from the database instead.');
      return undefined;
    }
  }

  /** By when it was used last, what is used least goes first. */
  function touch(name: string): void {
    utimes(join(folder, name), new Date(now()), new Date(now())).catch(() => {});
  }

  async function discard(name: string, why?: Error): Promise<void> {
    if (why) tell(why, 'A list file is damaged and was removed; the list is read from the database instead.');
    void opened.letGo(name);
    await unlink(join(folder, name)).catch(() => {});
  }

  /** All files are looked at now and then, and whenever what this process has written since might be too much. */
  async function hasRoom(name: string, written: number): Promise<boolean> {
    counted.bytes += written;
    if (now() - counted.at < countedEveryMs && counted.bytes < maxBytes / 8) return true;
    return makeRoom(parseListName(name));
  }

  /**
   * Over all that any process has here, unfinished ones included. For one that is added nothing goes that is in use: lists that do not fit
   * side by side would push each other out with every page.
   */
  async function makeRoom(added?: NamedList): Promise<boolean> {
    const files = await sizes();
    const removable = files.filter((one) => !isDraft(one.name) && !(added && isInUse(one, added)));
    let held = sumOf(files);
    if (!added || held - sumOf(removable) <= maxBytes) {
      for (const { name, size } of removable.toSorted((a, b) => a.usedAt - b.usedAt)) {
        if (held <= maxBytes) break;
        await discard(name);
        held -= size;
      }
    }
    counted = { bytes: held, at: now() };
    return held <= maxBytes;
  }

  /** Earlier versions make room for the next, which whoever used them will ask for. */
  function isInUse({ name, usedAt }: Sized, added: NamedList): boolean {
    const list = parseListName(name);
    return list !== undefined && !(list.rosterId === added.rosterId && list.version < added.version) && now() - usedAt < inUseMs;
  }

  async function sizes(): Promise<Sized[]> {
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

  const isOff = () => closed || maxBytes === 0;

  return {
    hold: async (name) => (isOff() ? undefined : opened.hold(name)),
    begin: async (name, how) => (isOff() ? undefined : drafts.begin(name, how)),
    discard,
    list: async () =>
      (await names()).flatMap((name) => {
        const list = parseListName(name);
        return list ? [{ ...list, name }] : [];
      }),
    async sweep(isWanted) {
      for (const { name, usedAt } of await sizes()) {
        const isUnfinished = isDraft(name);
        const list = parseListName(isUnfinished ? draftedName(name) : name);
        if (!list || !isWanted(list, usedAt) || (isUnfinished && now() - usedAt > unfinishedMs)) await discard(name);
      }
      await makeRoom();
      await opened.letGoRemoved();
    },
    async close() {
      closed = true;
      drafts.close();
      await opened.letGoAll();
    },
  };
}

const sumOf = (files: readonly Sized[]): number => files.reduce((sum, { size }) => sum + size, 0);

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
