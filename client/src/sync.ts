// In charge of keeping a copy of a roster up to date: sync() reads what changed, all of it of one version, stages it out of
// sight, makes it the copy at once, and tells what that changed. It may die at any line; the next run goes on from there.
import { LeaseLost, ShrinkageHeld, SyncBusy, SyncError, SyncUnsettled } from './sync-errors.ts';
import { findShrinkage, type Guard } from './sync-guard.ts';
import type { ListsB } from './records.ts';
import { findSight, isEarlier, look, type Look, type Sight } from './sync-look.ts';
import { Moved, readCollection, stageRest, type Run } from './sync-read.ts';
import { orderedCollections, sourceOf, type AnyRoster, type Source, type SyncCollection } from './sync-source.ts';
import type { Store } from './sync-store.ts';

export type SyncOptions = {
  /** Of one school (variant B), or of every school of the application (variant A, which has no deltas: everything is read each time). */
  roster: AnyRoster;
  store: Store;
  /** All that are granted, unless some are named. Variant A does not say which are: there, all, and an error if one is not. */
  collections?: readonly SyncCollection[] | undefined;
  guard?: Guard | undefined;
  /** Told in order and at least once, some at a time; what it was told is forgotten when it has returned. */
  onChange?: ((changes: readonly RosterChange[], of: { version: string }) => unknown) | undefined;
  /** Everything is read and compared again after so many days. */
  fullEveryDays?: number | undefined;
  pageSize?: number | undefined;
  /** How long a run that died keeps others out. */
  leaseMs?: number | undefined;
  signal?: AbortSignal | undefined;
  now?: (() => number) | undefined;
};

type RecordIn = { [C in SyncCollection]: ListsB[C]['record'] };
/** One record that was added (before is null), changed, or removed (after is null). */
export type RosterChange = { [C in SyncCollection]: { collection: C; id: string; before: RecordIn[C] | null; after: RecordIn[C] | null } }[SyncCollection];

export type Counts = { added: number; changed: number; removed: number };
export type SyncResult = Counts & {
  version: string;
  /** Whether everything was read, and not only what changed. */
  full: boolean;
  /** How many records were read. */
  read: number;
  collections: Record<string, Counts>;
};

/** What is known of the copy. */
type Copy = { version: string; tags: Look['tags']; sight: Sight | null; collections: readonly string[]; newest: string; fullAt: number };

const mostBeginnings = 5;
const toldAtOnce = 500;
const dayMs = 86_400_000;

export async function sync(options: SyncOptions): Promise<SyncResult> {
  const { store, leaseMs = 60_000 } = options;
  const holder = crypto.randomUUID();
  const opened = await store.open(holder, leaseMs);
  if ('heldUntil' in opened) throw new SyncBusy(opened.heldUntil);
  const lost = new AbortController();
  const beat = setInterval(() => void store.renew(holder).catch((error: unknown) => error instanceof LeaseLost && lost.abort(error)), leaseMs / 3);
  try {
    const signal = options.signal ? AbortSignal.any([options.signal, lost.signal]) : lost.signal;
    return await syncHeld({ ...options, source: sourceOf(options.roster), signal, holder }, parse<Copy>(opened.copy), parse<Run>(opened.run));
  } finally {
    clearInterval(beat);
    // What cannot be given back ends by itself.
    await store.close(holder).catch(() => {});
  }
}

type Held = SyncOptions & { source: Source; signal: AbortSignal; holder: string };

async function syncHeld(held: Held, copy: Copy | undefined, left: Run | undefined): Promise<SyncResult> {
  const sum: SyncResult = { version: copy?.version ?? '', full: false, read: 0, added: 0, changed: 0, removed: 0, collections: {} };
  // What an earlier run made the copy and did not come to tell.
  await tell(held, sum.version);
  let [current, run] = [copy, left];
  for (let beginnings = 0; ; ) {
    const resumed = run !== undefined;
    try {
      current = await bringUp(held, current, run, sum);
    } catch (error) {
      // Of a version that was begun earlier nothing is said: the newest may be as it should.
      const again = error instanceof Moved || held.source.isGone(error) || (resumed && error instanceof SyncError);
      if (!again) throw error;
      run = undefined;
      await held.store.stage(held.holder, null, { clear: true });
      beginnings += 1;
      if (beginnings >= mostBeginnings) throw new SyncUnsettled(`The roster changed ${beginnings} times while it was read; try again later.`, { cause: error });
      continue;
    }
    sum.version = current.version;
    await tell(held, current.version);
    run = undefined;
    // What was begun earlier may be of an older version.
    if (!resumed) return sum;
  }
}

/** One round, at one version: gives the copy as it is known then. */
async function bringUp(held: Held, copy: Copy | undefined, left: Run | undefined, sum: SyncResult): Promise<Copy> {
  const { source, store, holder, signal, guard = {} } = held;
  const collections = held.collections ? orderedCollections.filter((one) => held.collections?.includes(one)) : source.collections;
  const seen = await look(source, collections, signal, left?.version);
  if (left && !same([left.collections, left.tags], [collections, seen.tags])) throw new Moved('what may be seen is not what it was');
  const run = left ?? (await beginRun(held, collections, copy, seen));
  if (!run) return copy as Copy;
  for (const collection of collections.slice(run.done)) await readCollection(held, run, seen, collection);
  // Collections that are not asked for any more would only grow old.
  for (const collection of orderedCollections)
    if (run.full && !collections.includes(collection)) await stageRest(held, run, collection);
  // What was read is of one version; that it is also of one grant shows here.
  if (!same((await look(source, collections, signal, run.version)).tags, run.tags)) throw new Moved('what may be seen changed');
  const refused = collections.filter((one) => seen.totals[one] === undefined);
  const asked = (await store.compare()).filter((part) => collections.some((one) => one === part.collection));
  const shrinkage = findShrinkage(asked, refused, guard);
  if (shrinkage.length > 0) {
    await store.stage(holder, null, { clear: true });
    throw new ShrinkageHeld(run.version, shrinkage);
  }
  signal.throwIfAborted();
  const { version, tags, sight, newest, fullAt } = run;
  const known: Copy = { version, tags, sight, collections, newest, fullAt };
  const tallies = await store.publish(holder, JSON.stringify(known), held.onChange !== undefined);
  sum.full ||= run.full;
  sum.read += run.read;
  for (const { collection, ...counts } of tallies) {
    const own = (sum.collections[collection] ??= { added: 0, changed: 0, removed: 0 });
    for (const key of ['added', 'changed', 'removed'] as const) {
      own[key] += counts[key];
      sum[key] += counts[key];
    }
  }
  return known;
}

/** Undefined when the copy is what would be read. */
async function beginRun(held: Held, collections: readonly string[], copy: Copy | undefined, seen: Look): Promise<Run | undefined> {
  const { source, store, holder, signal, now = Date.now, fullEveryDays = 7 } = held;
  // A clock may have been wrong, in either direction.
  const due = !copy || Math.abs(now() - copy.fullAt) >= fullEveryDays * dayMs || !same(copy.collections, collections);
  // Without an ETag, which something in between may have taken away, nobody can tell.
  const tagged = Object.values(seen.tags).every((tag) => !tag.startsWith(' '));
  if (!due && tagged && same(copy.tags, seen.tags)) return undefined;
  const sight = source.deltas ? await findSight(source, seen, signal) : null;
  const full = due || !sight || copy.sight?.name !== sight.name || isEarlier(seen.version, copy.version) || copy.newest === '';
  const { version, tags } = seen;
  const before = full ? undefined : { since: copy.newest, people: copy.sight?.people ?? 0 };
  const newest = full ? '' : copy.newest;
  const run: Run = { version, tags, sight, collections, full, before, newest, fullAt: full ? now() : copy.fullAt, done: 0, walk: null, read: 0 };
  await store.stage(holder, JSON.stringify(run), { clear: true });
  return run;
}

async function tell({ store, holder, signal, onChange }: Held, version: string): Promise<void> {
  if (!onChange) return;
  for (;;) {
    signal.throwIfAborted();
    const { upTo, changes } = await store.changes(toldAtOnce);
    if (changes.length === 0) return;
    // Whoever stood still meanwhile, and was overtaken, would tell of what is long past.
    await store.renew(holder);
    await onChange(changes as readonly RosterChange[], { version });
    await store.told(holder, upTo);
  }
}

const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
const parse = <T>(text: string | null) => (text === null ? undefined : (JSON.parse(text) as T));
