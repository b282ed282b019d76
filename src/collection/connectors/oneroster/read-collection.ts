// In charge of a whole collection, page by page: it is complete, each record once and as many as were announced, or
// it is an error. A read that was cut short must never look like records that are gone.
import { cutText } from '../../../http/cut-text.ts';
import type { CollectionName } from '../../../roster/resource.ts';
import { MisError } from '../../connector.ts';
import type { Provider } from './provider.ts';
import { askPage, parsePage, type JsonRecord, type ProviderPage } from './read-page.ts';

export type Walk = Readonly<{
  collection: CollectionName;
  pageSize: number;
  /** Only what changed from then on. */
  since: string | undefined;
  /** Whether the provider announced a total when it was first asked. */
  counted: boolean;
}>;

/** Up to this many records are held back until the walk is over, so that it can begin again; more would fill the memory. */
const heldRecords = 20_000;
const mostWalks = 3;

class DataChanged extends MisError {
  constructor(collection: CollectionName, before: number | undefined, after: number | undefined) {
    super(
      'Error',
      `The provider's data changed while it was read: it announced ${before ?? 'no number of'} ${collection}, ` +
        `and then ${after ?? 'no number'}; it will be read again.`,
    );
  }
}

export async function* readCollection(provider: Provider, walk: Walk): AsyncGenerator<readonly JsonRecord[]> {
  for (let walks = 1; ; walks += 1) {
    const held: (readonly JsonRecord[])[] = [];
    let [count, released] = [0, false];
    try {
      for await (const records of walkOnce(provider, walk)) {
        held.push(records);
        count += records.length;
        if (count <= heldRecords) continue;
        released = true;
        yield* held.splice(0);
      }
      yield* held;
      return;
    } catch (error) {
      if (released || walks === mostWalks || !(error instanceof DataChanged)) throw error;
    }
  }
}

async function* walkOnce(provider: Provider, { collection, pageSize, since, counted }: Walk): AsyncGenerator<readonly JsonRecord[]> {
  const seen = new Set<string>();
  let first: ProviderPage | undefined;
  // Some providers have no page behind the last record, where others have an empty one.
  const ask = async (offset: number, limit: number, notThere: readonly number[]): Promise<ProviderPage> => {
    const answer = await askPage(provider, { collection, limit, offset, since });
    return first && notThere.includes(answer.status) ? { records: [], total: first.total, date: undefined } : parsePage(provider.url, collection, answer);
  };
  let received = 0;
  for (;;) {
    const page = await ask(received, pageSize, [404]);
    first ??= page;
    if (page.total !== first.total || (counted && page.total === undefined)) throw new DataChanged(collection, first.total, page.total);
    for (const record of page.records) requireNew(collection, seen, record);
    // Providers have a limit of their own, so that only what came is counted.
    received += page.records.length;
    if (page.records.length > 0) yield page.records;
    if (page.records.length === 0 || (page.total !== undefined && received >= page.total)) break;
  }
  const { total } = first;
  if (total === undefined) return;
  if (received !== total) throw new MisError('Error', `The provider announced ${total} ${collection} and delivered ${received}; nothing was changed.`);
  if (total > 0) requireEnd(collection, total, seen, await ask(total, 1, [400, 404]));
}

/** A record without an id is judged with its other faults. */
function requireNew(collection: CollectionName, seen: Set<string>, record: JsonRecord): void {
  const id = idOf(record);
  if (id === '') return;
  if (seen.has(id)) throw new MisError('Error', `The provider delivered "${cutText(id, 100)}" of ${collection} twice; nothing was changed.`);
  seen.add(id);
}

/** A total that is too small would end the walk early, so there must be nothing behind it. */
function requireEnd(collection: CollectionName, total: number, seen: ReadonlySet<string>, beyond: ProviderPage): void {
  if (beyond.total !== total) throw new DataChanged(collection, total, beyond.total);
  if (beyond.records.some((record) => !seen.has(idOf(record))))
    throw new MisError('Error', `The provider announced ${total} ${collection} and delivers more; nothing was changed.`);
}

function idOf({ sourcedId }: JsonRecord): string {
  return typeof sourcedId === 'string' || typeof sourcedId === 'number' ? String(sourcedId).trim() : '';
}
