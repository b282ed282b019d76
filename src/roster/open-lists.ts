// In charge of the list files that are open in this process: each is opened once for all who read it, and those that were used last stay
// open. Whoever has one may read it to its end, whatever becomes of its name.
import type { ListFile } from './list-file.ts';

/** A file that is being read; whoever has it gives it back. */
export type Held = Readonly<{ file: ListFile; release(): void }>;

export type OpenLists = {
  hold(name: string): Promise<Held | undefined>;
  /** It is closed when nobody reads it any more. */
  letGo(name: string): Promise<void>;
  /** Of those whose names are gone. */
  letGoRemoved(): Promise<void>;
  letGoAll(): Promise<void>;
};

/** open: undefined where there is none that is whole. touch: hears now and then that a file is used. */
export type OpenListsParts = { open(name: string): Promise<ListFile | undefined>; touch(name: string): void; now(): number };

const touchedEveryMs = 60_000;
const mostOpen = 1024;
const mostIndexBytes = 24 * 1024 * 1024;

type Opened = { file: ListFile; readers: number; gone: boolean; touchedAt: number };

export function createOpenLists({ open, touch, now }: OpenListsParts): OpenLists {
  const opened = new Map<string, Promise<Opened | undefined>>();
  let indexBytes = 0;

  async function hold(name: string): Promise<Held | undefined> {
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
    noteUse(name, one);
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
    const file = await open(name);
    if (!file) return undefined;
    indexBytes += file.starts.byteLength;
    return { file, readers: 0, gone: false, touchedAt: 0 };
  }

  function noteUse(name: string, one: Opened): void {
    if (now() - one.touchedAt < touchedEveryMs) return;
    one.touchedAt = now();
    touch(name);
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

  return {
    hold,
    letGo,
    async letGoRemoved() {
      // Meanwhile others are opened, and used again: those need not be looked at.
      const before = [...opened];
      for (const [name, opening] of before) {
        const one = await opening;
        if (one && (await one.file.handle.stat().catch(() => undefined))?.nlink !== 1) await letGo(name);
      }
    },
    async letGoAll() {
      await Promise.all([...opened.keys()].map(letGo));
    },
  };
}
