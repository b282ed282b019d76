// In charge of reading a whole roster for the operator: everything of one establishment, all from one version.
import type { Db } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import type { Resource } from '../roster/resource.ts';
import { operations } from './operations.ts';
import type { Question } from './plan.ts';
import { createRemembered } from './remembered.ts';
import { createFinish } from './render.ts';
import { createFactsReader } from './roster-facts.ts';
import { openStream, selectMetadataKeys, selectTotal, type Reader } from './select-page.ts';

export async function readRoster(db: Db, estab: string) {
  const [row] = await db<{ version: number }[]>`select version from roster where estab = ${estab}`;
  const reader: Reader = { db, searches: db, streams: db, facts: createFactsReader(), totals: createRemembered(0), ends: createRemembered(0) };
  const versions = new Map([[estab, (await reader.facts.facts(db, estab, row?.version ?? 0)).versions]]);

  const finish = createFinish('', versions, undefined);
  const question = (resource: Resource): Question => {
    const operation = operations.find((one) => one.collection === resource.collection && !one.single && !one.kinds && !one.relation);
    if (!operation) throw new Error(`no operation lists ${resource.collection}`);
    return { operation, ids: [], targets: [{ estab, version: row?.version ?? 0, kinds: resource.kinds, people: collections.users.kinds }], filter: undefined, sort: undefined, address: '', versions };
  };
  return {
    version: row?.version ?? 0,
    metadataKeys: (resource: Resource) => selectMetadataKeys(reader, question(resource)),
    count: (resource: Resource) => selectTotal(reader, question(resource), ''),
    async *records(resource: Resource): AsyncGenerator<string> {
      const { pieces, close } = await openStream(reader, question(resource), { limit: undefined, offset: 0 }, '');
      try {
        for await (const piece of pieces) yield finish(piece);
      } finally {
        await close();
      }
    },
  };
}
