// In charge of reading one collection into what is staged: what changed since the copy, or all of it, page by page. How far
// it is stands in the store with each page.
import { active, type Look, type Sight } from './sync-look.ts';
import { orderedCollections, type PageAsk, type Source, type SourcePage } from './sync-source.ts';
import type { Kept, Row, Step, Store } from './sync-store.ts';

/** @internal What the run reads, and how far it is. */
export type Run = {
  version: string;
  tags: Look['tags'];
  sight: Sight | null;
  collections: readonly string[];
  full: boolean;
  /** Where the copy ends, to which only what changed is added; undefined when everything is read. */
  before: { since: string; people: number } | undefined;
  /** The latest dateLastModified that was read. */
  newest: string;
  fullAt: number;
  /** How many collections are staged, and the page that comes next of the one after them. */
  done: number;
  walk: { whole: boolean; offset: number } | null;
  read: number;
};

type Writing = { store: Store; holder: string };
type Reading = Writing & { source: Source; signal: AbortSignal; pageSize?: number | undefined };

/** @internal The roster, or what may be seen of it, is not what it was when the run began. */
export class Moved extends Error {}

/** @internal */
export async function readCollection(reading: Reading, run: Run, seen: Look, collection: string): Promise<void> {
  const total = seen.totals[collection];
  // What is refused is not read, and goes.
  if (total !== undefined) {
    run.walk ??= { whole: await mustReadWhole(reading, run, collection), offset: 0 };
    if (!run.walk.whole) {
      await walk(reading, run, collection, undefined);
      // Whoever left without a trace is still counted in the copy: purged long after, or not to be seen in their new role.
      if ((await countThen(reading.store, collection)) !== total) run.walk = { whole: true, offset: 0 };
    }
    if (run.walk.whole) await walk(reading, run, collection, total);
  }
  const whole = total === undefined || run.walk?.whole;
  run.done += 1;
  run.walk = null;
  await (whole ? stageRest(reading, run, collection) : stage(reading, run, {}));
}

/** @internal What was not read goes. */
export function stageRest(reading: Writing, run: Run, collection: string): Promise<void> {
  return stage(reading, run, { rest: { collection, place: placeOf(collection, null) } });
}

/**
 * Where only some kinds of people are shown, a user's agents come and go with their roles, and dateLastModified does not move.
 * But then some user changed, or came or went.
 */
async function mustReadWhole(reading: Reading, { before, sight, version }: Run, collection: string): Promise<boolean> {
  if (!before || !sight) return true;
  if (collection !== 'users' || sight.everyone) return false;
  if (sight.people !== before.people) return true;
  return (await readPage(reading, collection, { filter: changedSince(before.since), limit: 1, offset: 0, version })).total > 0;
}

/** One instant is one version: what is later than the latest that was read changed since, and nothing else did. */
const changedSince = (instant: string) => `dateLastModified>'${instant}'`;

/** total: how many there must be of a collection that is read whole. */
async function walk(reading: Reading, run: Run, collection: string, total: number | undefined): Promise<void> {
  const { pageSize: limit = 1000 } = reading;
  const filter = total === undefined ? changedSince(run.before?.since ?? '') : active;
  for (let offset = run.walk?.offset ?? 0, end = total ?? Infinity; offset < end; ) {
    const page = await readPage(reading, collection, { filter, limit, offset, version: run.version });
    if (page.version !== run.version || page.total !== (total ?? page.total)) throw new Moved(`${collection} has ${page.total} records, not ${total}`);
    if (page.records.length === 0 && offset < page.total) throw new Moved(`${collection} ended at ${offset} of ${page.total}`);
    // Of a walk that begins anew nothing may be left of an earlier one.
    const clear = offset === 0 ? { clear: collection } : {};
    offset += page.records.length;
    end = page.total;
    run.walk = { whole: total !== undefined, offset };
    run.read += page.records.length;
    for (const { dateLastModified } of page.records) if (dateLastModified > run.newest) run.newest = dateLastModified;
    const rows = page.records.map((record) => rowOf(collection, record));
    await stage(reading, run, { ...clear, rows: total === undefined ? rows : rows.filter((row) => row.record) });
  }
}

/** What was granted when the run began may be refused by now. */
async function readPage({ source, signal }: Reading, collection: string, ask: Omit<PageAsk, 'signal'>): Promise<SourcePage> {
  signal.throwIfAborted();
  return source.page(collection, { ...ask, signal }).catch((cause: unknown) => {
    throw source.isRefusal(cause) ? new Moved(`${collection} is refused`, { cause }) : cause;
  });
}

function stage({ store, holder }: Writing, run: Run, step: Step): Promise<void> {
  return store.stage(holder, JSON.stringify(run), step);
}

/** How many the copy would have of a collection. */
async function countThen(store: Store, collection: string): Promise<number> {
  const own = (await store.compare()).filter((part) => part.collection === collection);
  return own.reduce((sum, { had, gone, come }) => sum + had - gone + come, 0);
}

/** The copy holds what is active. */
function rowOf(collection: string, record: Kept): Row {
  const kept = record.status === 'active' ? record : null;
  const part = collection === 'users' && 'role' in record ? String(record.role) : '';
  return { collection, id: record.sourcedId, part, place: placeOf(collection, kept), record: kept };
}

/** What comes or changes in the order in which records refer to one another, then what goes in the opposite one. */
function placeOf(collection: string, record: Kept | null): number {
  const place = orderedCollections.findIndex((one) => one === collection);
  return record ? place : 2 * orderedCollections.length - place;
}
