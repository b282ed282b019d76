// In charge of the oneroster connector: pulls a roster from any OneRoster provider, everything or what changed.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Outbound } from '../../../http/outbound.ts';
import { collections } from '../../../roster/collections.ts';
import type { Connector, RosterReading } from '../../connector.ts';
import { createCompleteLeavers } from './leavers.ts';
import { openReading, requireProbes } from './open-reading.ts';
import type { OneRosterVersion } from './discovery.ts';
import { usualWaits, type Persistence } from './persistent-call.ts';
import { openProvider, type ProviderParts } from './provider.ts';
import { readRows } from './read-rows.ts';
import type { JsonRecord } from './read-page.ts';
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
      const { provider, probes, since, filters } = await openReading(parts, persistenceOf(parts, usualWaits), { since: wanted, full });
      const beganAt = Date.parse(probes.values().next().value?.date ?? '');
      const watch = watchReading(before, { full: since === undefined, filters, beganAt: Number.isNaN(beganAt) ? openedAt : beganAt, now: openedAt });
      let records = 0;
      const see = (record: JsonRecord) => {
        records += 1;
        watch.see(record);
      };
      const findSchools = createFindSchools(provider, { pageSize, counted: (collection) => probes.get(collections[collection])?.total !== undefined });
      const completeLeavers = createCompleteLeavers();
      const uncounted = [...probes].filter(([, { total }]) => total === undefined).map(([{ collection }]) => collection);
      const unreported = uncounted.length > 0 ? { leaversUnreported: uncounted } : {};
      return {
        collections: [...probes].map(([resource, { total }]) => ({
          resource,
          mode: since !== undefined ? 'delta' : total === undefined ? 'uncounted' : 'bulk',
          read: (problems, { live }) =>
            readRows(provider, resource, { pageSize, since, counted: total !== undefined }, problems, { see, findSchools, completeLeavers, live }),
        })),
        provider: parts.url,
        ignored: [],
        ...unreported,
        totalBytes: bytesPerRecord * [...probes.values()].reduce((sum, { total }) => sum + (total ?? 0), 0),
        bytesRead: () => bytesPerRecord * records,
        close: async () => {},
        state: () => ({ ...watch.next(), ...provider.remember(), ...unreported }),
      };
    },
  };
}

export type Tested = { version: OneRosterVersion; tokenUrl: string; collections: Record<string, number> };

/** Authenticates and asks each collection for one record. Where no total is announced, what came is counted. */
export async function testProvider(parts: OneRosterParts): Promise<Tested> {
  const provider = await openProvider(parts, persistenceOf(parts, []), { full: true });
  const probes = await requireProbes(provider);
  return {
    version: provider.found.version,
    tokenUrl: provider.tokenUrl() ?? '',
    collections: Object.fromEntries([...probes].map(([{ collection }, { total, records }]) => [collection, total ?? records.length])),
  };
}

function persistenceOf({ outbound, now = Date.now, pause = (ms) => sleep(ms) }: OneRosterParts, waits: readonly number[]): Persistence {
  return { outbound, now, pause, waits };
}
