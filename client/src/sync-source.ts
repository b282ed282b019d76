// In charge of what sync() needs of a roster: one page at a time, at a version.
import { SchoolbellError, VersionGone } from './errors.ts';
import type { RawRoster } from './rostering.ts';
import { SyncError } from './sync-errors.ts';
import type { Kept } from './sync-store.ts';

/** In the order in which they refer to one another: what is told of first does not point to a collection that comes later. */
export const orderedCollections = ['orgs', 'academicSessions', 'courses', 'classes', 'users', 'demographics', 'enrollments'] as const;
export type SyncCollection = (typeof orderedCollections)[number];

/** @internal */
export type PageAsk = { filter: string | undefined; limit: number; offset: number; version: string | undefined; signal: AbortSignal };
/** @internal */
export type SourcePage = { records: readonly Kept[]; total: number; version: string; etag: string };

/** @internal */
export type Source = {
  /** Whether it can be asked for what changed since an instant. */
  deltas: boolean;
  collections: readonly SyncCollection[];
  page(collection: string, ask: PageAsk): Promise<SourcePage>;
  /** Whether the school does not grant the collection. */
  isRefusal(error: unknown): boolean;
  /** Whether the version is not kept any more. */
  isGone(error: unknown): boolean;
};

/** Either variant's. */
export type AnyRoster = { readonly variant: 'A' | 'B'; readonly raw: RawRoster };

type Abilities = Pick<Source, 'deltas' | 'collections'> & {
  /** On these a filter is ignored. */
  unfiltered: readonly string[];
  /** The status of what the school does not grant, where nothing else has the same. */
  refusal: number | undefined;
};

const abilities: Record<AnyRoster['variant'], Abilities> = {
  A: { deltas: false, collections: orderedCollections.filter((one) => one !== 'demographics'), unfiltered: ['enrollments'], refusal: undefined },
  B: { deltas: true, collections: orderedCollections, unfiltered: [], refusal: 403 },
};

/** @internal */
export function sourceOf({ variant, raw }: AnyRoster): Source {
  const { deltas, collections, unfiltered, refusal } = abilities[variant];
  return {
    deltas,
    collections,
    async page(collection, { filter, limit, offset, version, signal }) {
      const asked = unfiltered.includes(collection) ? undefined : filter;
      for await (const page of raw.pages(collection, { filter: asked, pageSize: limit, offset, version, signal })) return page;
      throw new SyncError(`${collection} was answered without a page.`);
    },
    // One without the service's own number is of something in between, which decides nothing for the school.
    isRefusal: (error) => error instanceof SchoolbellError && error.status === refusal && error.requestId !== undefined,
    isGone: (error) => error instanceof VersionGone,
  };
}
