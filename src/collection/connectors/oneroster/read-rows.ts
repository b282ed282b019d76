// In charge of a provider's collection as checked rows, in batches, each row with the page that it stood on.
import { collections } from '../../../roster/collections.ts';
import type { Resource } from '../../../roster/resource.ts';
import type { Problems } from '../../problem.ts';
import type { LiveRoster, SourceBatch } from '../../source.ts';
import { createRecordCheck } from './check-record.ts';
import { fillOrgs, type FindSchools } from './course-schools.ts';
import { editionOf } from './discovery.ts';
import type { CompleteLeavers } from './leavers.ts';
import type { Provider } from './provider.ts';
import { readCollection, type Walk } from './read-collection.ts';
import type { JsonRecord } from './read-page.ts';

const rowsPerBatch = 5_000;

/** see: told of each record. live: the roster as it stands. */
export type Aids = Readonly<{ see: (record: JsonRecord) => void; findSchools: FindSchools; completeLeavers: CompleteLeavers; live: LiveRoster }>;

export async function* readRows(
  provider: Provider,
  resource: Resource,
  walk: Omit<Walk, 'collection'>,
  problems: Problems,
  { see, findSchools, completeLeavers, live }: Aids,
): AsyncGenerator<SourceBatch> {
  const edition = editionOf[provider.found.version];
  const check = createRecordCheck(resource, edition);
  let [line, page] = [0, 0];
  for await (const records of readCollection(provider, { ...walk, collection: resource.collection })) {
    page += 1;
    for (let at = 0; at < records.length; at += rowsPerBatch) {
      const batch: SourceBatch = { rows: [], rejected: [] };
      for (const record of records.slice(at, at + rowsPerBatch)) {
        line += 1;
        see(record);
        const fault = problems.total + 1;
        const row = check(record, line, (problem) => problems.add(problem));
        if ('rejected' in row) batch.rejected.push({ line, sourcedId: row.rejected, fault });
        else batch.rows.push({ ...row, page });
      }
      if (edition === 'v1p1') yield batch;
      else yield resource === collections.courses ? await fillOrgs(batch, findSchools, problems) : await completeLeavers(resource, batch, live);
    }
  }
}
