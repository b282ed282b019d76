// In charge of sources that tests make up out of values: people with several roles, which no file of OneRoster 1.1 can tell of.
import { importRoster } from '../src/collection/import.ts';
import type { ImportReport } from '../src/collection/import-report.ts';
import type { Mode, Source, SourceRow } from '../src/collection/source.ts';
import { allResources } from '../src/roster/collections.ts';
import type { CollectionName, Item, Resource, Value } from '../src/roster/resource.ts';
import { mainRole, orgsOfRoles } from '../src/roster/resources/user-role.ts';
import type { Service } from './service.ts';

/** By the names of the record's fields; a reference is the id alone. */
export type Given = Readonly<Record<string, Value>> & Readonly<{ sourcedId: string; status?: 'active' | 'tobedeleted' }>;
export type GivenRole = Item & Readonly<{ roleType: string; role: string; org: string }>;

export const role = (name: string, org: string, roleType = 'primary'): GivenRole => ({ roleType, role: name, org });

/** A person with these roles; what 1.1 shows of them is filled in as a source of 1.2 fills it in. */
export function person(sourcedId: string, roles: readonly GivenRole[], more: Readonly<Record<string, Value>> = {}): Given {
  const primaryOrg = more.primaryOrg as string | undefined;
  return {
    sourcedId, username: sourcedId, enabledUser: 'true', givenName: sourcedId, familyName: 'Lee', roles, role: mainRole(roles, primaryOrg),
    orgs: orgsOfRoles(roles), ...more,
  };
}

export function madeUpSource(rows: Partial<Record<CollectionName, readonly Given[]>>, mode: Mode = 'bulk'): Source {
  return {
    collections: allResources.flatMap((resource) => {
      const given = rows[resource.collection];
      if (!given) return [];
      const read = async function* read() {
        yield { rows: given.map((one, at) => toRow(resource, one, at)), rejected: [] };
      };
      return [{ resource, mode, read }];
    }),
    ignored: [],
    totalBytes: 1,
    bytesRead: () => 1,
    close: async () => {},
  };
}

function toRow({ fields }: Resource, { sourcedId, status = 'active', ...given }: Given, at: number): SourceRow {
  return { line: at + 2, sourcedId, status, values: fields.map(({ name }) => given[name]), metadata: undefined };
}

/** Approves the import if it waits for that. */
export async function loadSource({ db, dataDir }: Service, estab: string, source: Source): Promise<ImportReport> {
  const [id, options] = [crypto.randomUUID(), { estab, dataDir, partial: false, force: false, shrinkLimitPercent: 20 }];
  const report = await importRoster(db, async () => source, { ...options, id });
  return report.outcome === 'held' ? importRoster(db, async () => source, { ...options, approved: id }) : report;
}
