// In charge of the oneroster connector: pulls a roster from any OneRoster provider, everything or what changed.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Outbound } from '../../../http/outbound.ts';
import { allResources, collections } from '../../../roster/collections.ts';
import type { Resource } from '../../../roster/resource.ts';
import type { Connector, RosterReading } from '../../connector.ts';
import type { OneRosterVersion } from './discovery.ts';
import { usualWaits } from './persistent-call.ts';
import { openProvider, type Provider, type ProviderParts } from './provider.ts';
import { readRows } from './read-rows.ts';
import { askPage, parsePage, type JsonRecord, type ProviderPage } from './read-page.ts';
import { createFindSchools } from './course-schools.ts';
import { findSince, parseState, watchReading } from './reading-state.ts';

export { pageLimits } from './persistent-call.ts';

export type OneRosterParts = ProviderParts & {
  outbound: Outbound;
  now?: () => number;
  pause?: (ms: number) => Promise<void>;
  pageSize?: number;
};

const usualPageSize = 5_000;
/** Progress counts bytes, and the import takes a thousand rows to be a hundred thousand of them. */
const bytesPerRecord = 100;

export function createOneRosterConnector(parts: OneRosterParts): Connector {
  const { now = Date.now, pageSize = usualPageSize } = parts;
  return {
    kind: 'provider',
    offers: ['SchoolData'],
    async openRoster({ full }): Promise<RosterReading> {
      const before = parseState(parts.state);
      const openedAt = now();
      const wanted = full ? undefined : findSince(before, openedAt);
      const provider = await open(parts, usualWaits, wanted === undefined);
      const changed = wanted === undefined ? undefined : await probe(provider, wanted);
      const since = changed ? wanted : undefined;
      const probes = changed ?? (await requireProbes(provider));
      // A provider that refused the filter is asked for changes again only after someone wanted everything.
      const filters = since !== undefined || (wanted === undefined && (full || parts.state.deltas !== false));
      const beganAt = Date.parse(probes.values().next().value?.date ?? '');
      const watch = watchReading(before, { full: since === undefined, filters, beganAt: Number.isNaN(beganAt) ? openedAt : beganAt, now: openedAt });
      let records = 0;
      const see = (record: JsonRecord) => {
        records += 1;
        watch.see(record);
      };
      const findSchools = createFindSchools(provider, { pageSize, counted: (collection) => probes.get(collections[collection])?.total !== undefined });
      return {
        collections: [...probes].map(([resource, { total }]) => ({
          resource,
          // Without a total nobody can tell whether all came, so nothing may be removed for being absent.
          mode: since === undefined && total !== undefined ? 'bulk' : 'delta',
          read: (problems) => readRows(provider, resource, { pageSize, since, counted: total !== undefined }, problems, see, findSchools),
        })),
        provider: parts.url,
        ignored: [],
        totalBytes: bytesPerRecord * [...probes.values()].reduce((sum, { total }) => sum + (total ?? 0), 0),
        bytesRead: () => bytesPerRecord * records,
        close: async () => {},
        state: () => ({ ...watch.next(), ...provider.remember() }),
      };
    },
  };
}

export type Tested = { version: OneRosterVersion; tokenUrl: string; collections: Record<string, number> };

/** Authenticates and asks each collection for one record. Where no total is announced, what came is counted. */
export async function testProvider(parts: OneRosterParts): Promise<Tested> {
  const provider = await open(parts, [], true);
  const probes = await requireProbes(provider);
  return {
    version: provider.version,
    tokenUrl: provider.tokenUrl() ?? '',
    collections: Object.fromEntries([...probes].map(([{ collection }, { total, records }]) => [collection, total ?? records.length])),
  };
}

function open(parts: OneRosterParts, waits: readonly number[], full: boolean): Promise<Provider> {
  const { outbound, now = Date.now, pause = (ms) => sleep(ms) } = parts;
  return openProvider(parts, { outbound, now, pause, waits }, { full });
}

type Probes = ReadonlyMap<Resource, ProviderPage>;

async function requireProbes(provider: Provider): Promise<Probes> {
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
