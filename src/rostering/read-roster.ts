// In charge of reading a whole roster for the operator: everything of one establishment, all from one version.
import type { Db } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import type { Resource } from '../roster/resource.ts';
import { operations } from './operations.ts';
import type { Question } from './plan.ts';
import { createRemembered } from './remembered.ts';
import { createFinish } from './render.ts';
import { createFactsReader, type RosterAt } from './roster-facts.ts';
import { openStream, selectMetadataKeys, selectTotal, type Reader } from './select-page.ts';

export async function readRoster(db: Db, estab: string) {
  const [at] = await db<RosterAt[]>`select estab, id as "rosterId", version from roster where estab = ${estab}`;
  if (!at) throw new Error(`there is no roster for ${estab}`);
  const reader: Reader = { db, searches: db, lists: db, facts: createFactsReader(), totals: createRemembered(0), ends: createRemembered(0) };
  const versions = new Map([[estab, (await reader.facts.facts(db, at)).versions]]);

  const finish = createFinish('', versions, undefined);
  const question = (resource: Resource): Question => {
    const operation = operations.find((one) => one.collection === resource.collection && !one.single && !one.kinds && !one.relation);
    if (!operation) throw new Error(`no operation lists ${resource.collection}`);
    return {
      operation,
      ids: [],
      targets: [{ ...at, kinds: resource.kinds, people: collections.users.kinds }],
      filter: undefined,
      sort: undefined,
      address: '',
      versions,
    };
  };
  return {
    version: at.version,
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
