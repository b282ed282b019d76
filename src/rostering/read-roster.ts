// In charge of reading a whole roster for the operator: everything of one establishment, all from one version.
import type { Db } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import type { Resource, Status } from '../roster/resource.ts';
import { variantB } from './dialects/variant-b.ts';
import { findFieldPath } from './field-path.ts';
import { operations } from './operations.ts';
import type { Question } from './plan.ts';
import { createRemembered } from './remembered.ts';
import { createFinish } from './render.ts';
import { createFactsReader } from './roster-facts.ts';
import type { Target } from './visibility.ts';
import { openStream, selectMetadataKeys, selectTotal, type Reader } from './select-page.ts';

const dialect = variantB;

export async function readRoster(db: Db, estab: string) {
  const [at] = await db<Pick<Target, 'estab' | 'rosterId' | 'version' | 'current' | 'keptFrom'>[]>`
    select estab, id as "rosterId", version, version as current, kept_from as "keptFrom" from roster where estab = ${estab}`;
  if (!at) throw new Error(`there is no roster for ${estab}`);
  const targetOf = (resource: Resource): Target => ({ ...at, kinds: resource.kinds, people: collections.users.kinds, byAnyKind: dialect.byAnyKind });
  const reader: Reader = { db, searches: db, lists: db, facts: createFactsReader(), totals: createRemembered(0), ends: createRemembered(0) };
  const versions = new Map([[estab, await reader.facts.versions(db, targetOf(collections.orgs))]]);

  const finish = createFinish('', versions, undefined);
  const question = (resource: Resource, status: Status | undefined): Question => {
    const path = findFieldPath(resource, 'status', dialect.edition);
    const operation = operations.find((one) => one.collection === resource.collection && !one.single && !one.kinds && !one.relation);
    if (!operation) throw new Error(`no operation lists ${resource.collection}`);
    return {
      dialect,
      operation,
      ids: [],
      targets: [targetOf(resource)],
      filter: path && status && [[{ path, operator: '=', value: status }]],
      sort: undefined,
      address: '',
      versions,
    };
  };
  return {
    version: at.version,
    metadataKeys: (resource: Resource, status?: Status) => selectMetadataKeys(reader, question(resource, status)),
    count: (resource: Resource, status?: Status) => selectTotal(reader, question(resource, status), ''),
    async *records(resource: Resource, status?: Status): AsyncGenerator<string> {
      const { pieces, close } = await openStream(reader, question(resource, status), { limit: undefined, offset: 0 }, '');
      try {
        for await (const piece of pieces) yield finish(piece);
      } finally {
        await close();
      }
    },
  };
}
