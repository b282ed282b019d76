// In charge of what can be seen before anything is read: which collections are granted, how many active records each has at a
// version, and whose records they are. dateLastModified does not move when a school grants more or less, so this must show it.
import { orderedCollections, type Source, type SourcePage } from './sync-source.ts';
import { SyncError } from './sync-errors.ts';

/** @internal */
export const active = "status='active'";

/** @internal */
export type Look = {
  version: string;
  /** Active records, by collection; those that are refused are missing. Where a filter is ignored, all records. */
  totals: Record<string, number>;
  /** What the service would answer and to whom: one tag each, the same as long as version, grant, schools and address are. */
  tags: Record<string, string>;
  /** Under which records refer to one another, if one of those that were seen does. */
  address: string;
};

/** @internal All of one version: the one that is asked for, else the newest. */
export async function look(source: Source, collections: readonly string[], signal: AbortSignal, version?: string): Promise<Look> {
  const seen: Look = { version: version ?? '', totals: {}, tags: {}, address: '' };
  let refusal: unknown;
  for (const collection of collections) {
    const page = await pageOrRefusal(source, collection, { filter: active, limit: 1, offset: 0, version: seen.version || undefined, signal });
    if ('refusal' in page) {
      seen.tags[collection] = 'refused';
      refusal = page.refusal;
      continue;
    }
    seen.version = page.version;
    seen.totals[collection] = page.total;
    seen.tags[collection] = `${page.etag} ${page.total}`;
    seen.address ||= addressIn(page);
  }
  // Nothing at all: the authorisation is paused or revoked, and that is no reason to empty the copy.
  if (Object.keys(seen.totals).length === 0) throw refusal ?? new SyncError(`Name at least one of ${orderedCollections.join(', ')}.`);
  return seen;
}

/** @internal */
export type Sight = {
  /** Comparable from version to version: which people are shown, under which address, of which roster. */
  name: string;
  /** Whether people of every kind are shown. If not, a reference to a person comes and goes with that person's role, unmarked. */
  everyone: boolean;
  /** Users of any status. */
  people: number;
};

const contacts = "role='parent' or role='guardian' or role='relative'";

/** @internal For sources that have deltas. */
export async function findSight(source: Source, { version, address }: Look, signal: AbortSignal): Promise<Sight> {
  const ask = (collection: string, filter?: string) => pageOrRefusal(source, collection, { filter, limit: 1, offset: 0, version, signal });
  const [students, staff, parents, users] = [await ask('students'), await ask('teachers'), await ask('users', contacts), await ask('users')];
  const shown = [!('refusal' in students), !('refusal' in staff), !('refusal' in parents) && parents.total > 0];
  return {
    name: [rosterOf(version), address || ('refusal' in users ? '' : addressIn(users)), ...shown].join(' '),
    everyone: shown.every(Boolean),
    people: 'refusal' in users ? 0 : users.total,
  };
}

const addressIn = ({ records }: SourcePage) => /"href":"(.*?)\/\w+\/[^/"]*"/.exec(JSON.stringify(records))?.[1] ?? '';

/** A version is a number and the name of the roster it numbers. */
const rosterOf = (version: string) => version.replace(/^\d+-/, '');

/** @internal A school that was set back to an earlier state counts on from there. */
export function isEarlier(version: string, than: string): boolean {
  return Number.parseInt(version, 10) < Number.parseInt(than, 10);
}

async function pageOrRefusal(source: Source, collection: string, ask: Parameters<Source['page']>[1]): Promise<SourcePage | { refusal: unknown }> {
  try {
    return await source.page(collection, ask);
  } catch (error) {
    if (source.isRefusal(error)) return { refusal: error };
    throw error;
  }
}
