// In charge of how a provider is opened for a reading: by what is remembered of it, asked for one record of each collection, and
// found out anew where it is no longer what it was.
import { allResources, collections } from '../../../roster/collections.ts';
import type { Resource } from '../../../roster/resource.ts';
import { MisError } from '../../connector.ts';
import { findRemembered } from './discovery.ts';
import { isAbsent, isEmpty, isGone } from './json-value.ts';
import type { Persistence } from './persistent-call.ts';
import { openProvider, type Provider, type ProviderParts } from './provider.ts';
import { askPage, parsePage, type ProviderPage } from './read-page.ts';

type Probes = ReadonlyMap<Resource, ProviderPage>;
/** since: from when on changes are read; undefined for everything. filters: whether changes can be asked for the next time. */
type Opened = Readonly<{ provider: Provider; probes: Probes; since: string | undefined; filters: boolean }>;
/** since: undefined where everything is to be read. full: because somebody wants that. */
type Wanted = Readonly<{ since: string | undefined; full: boolean }>;

export async function openReading(parts: ProviderParts, persistence: Persistence, { since, full }: Wanted): Promise<Opened> {
  if (since === undefined) {
    const provider = await openProvider(parts, persistence, { full: true });
    // A provider that refused the filter is asked for changes again only after someone wanted everything.
    return { provider, probes: await requireProbes(provider), since, filters: full || parts.state.deltas !== false };
  }
  const known = await openChanges(parts, persistence, since).catch(asRefusal);
  if (!(known instanceof MisError) && !isOtherThanKnown(known)) return known;
  const provider = await openProvider(parts, persistence, { full: true });
  const before = findRemembered(provider.url, parts.state);
  // Changes of what it was are none of what it is.
  if (before && (before.version !== provider.found.version || before.tokenUrl !== provider.found.tokenUrl))
    return { provider, probes: await requireProbes(provider), since: undefined, filters: true };
  if (known instanceof MisError) throw known;
  return known;
}

async function openChanges(parts: ProviderParts, persistence: Persistence, since: string): Promise<Opened> {
  const provider = await openProvider(parts, persistence, { full: false });
  const changed = await probe(provider, since);
  if (changed) return { provider, probes: changed, since, filters: true };
  return { provider, probes: await requireProbes(provider), since: undefined, filters: false };
}

/** A provider that is only away is still what it was. */
function asRefusal(error: unknown): MisError {
  if (error instanceof MisError && !error.later) return error;
  throw error;
}

/** A provider of 1.1 that became one of 1.2, or the other way round, may give tokens and lists as ever; its people show it. */
function isOtherThanKnown({ provider, probes }: Opened): boolean {
  const [user] = probes.get(collections.users)?.records ?? [];
  if (user === undefined) return false;
  if (provider.found.version === '1.1') return isAbsent(user.role);
  // Whoever is gone may have no roles in 1.2.
  return isEmpty(user.roles) && (!isGone(user.status) || !isAbsent(user.role));
}

export async function requireProbes(provider: Provider): Promise<Probes> {
  return (await probe(provider, undefined)) ?? new Map();
}

/** One record of each collection that there is; undefined when the provider does not filter by time. */
async function probe(provider: Provider, since: string | undefined): Promise<Probes | undefined> {
  const pages = new Map<Resource, ProviderPage>();
  for (const resource of allResources) {
    const { collection } = resource;
    if (!provider.mayOpen(collection)) continue;
    const answer = await askPage(provider, { collection, limit: 1, offset: 0, since });
    if (since !== undefined && answer.status === 400) return undefined;
    const unknown = answer.status === 403 || answer.status === 404 || (answer.status === 400 && answer.headers['content-type']?.startsWith('text/plain'));
    // Many providers keep demographics to themselves; whatever else is refused is missed.
    if (collection === 'demographics' && unknown) continue;
    pages.set(resource, parsePage(provider.url, collection, answer));
  }
  return pages;
}
