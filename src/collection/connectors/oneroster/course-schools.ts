// In charge of whose a course is where a provider of OneRoster 1.2 does not say it: that of the school of its classes, or of the first
// school there is. 1.1 requires it.
import { collections } from '../../../roster/collections.ts';
import type { CollectionName } from '../../../roster/resource.ts';
import type { Problems } from '../../problem.ts';
import type { SourceBatch, SourceRow } from '../../source.ts';
import { idText, isGone } from './json-value.ts';
import type { Provider } from './provider.ts';
import { readCollection } from './read-collection.ts';

/** The school of each course that has classes, and the first of all. */
type Schools = Readonly<{ ofCourses: ReadonlyMap<string, string>; first: string | undefined }>;
export type FindSchools = () => Promise<Schools>;
/** counted: whether the provider announces how many there are. */
type Walks = Readonly<{ pageSize: number; counted: (collection: CollectionName) => boolean }>;

/** Once, and only if it is asked for: it takes a walk through all classes. */
export function createFindSchools(provider: Provider, walks: Walks): FindSchools {
  let found: Promise<Schools> | undefined;
  return () => (found ??= readSchools(provider, walks));
}

async function readSchools(provider: Provider, { pageSize, counted }: Walks): Promise<Schools> {
  const walk = (collection: CollectionName) => readCollection(provider, { collection, pageSize, since: undefined, counted: counted(collection) });
  const ofCourses = new Map<string, string>();
  for await (const records of walk('classes')) {
    for (const { course, school, status } of records) {
      const [taught, at] = [idText(course), idText(school)];
      if (!isGone(status) && taught !== '' && at !== '' && !ofCourses.has(taught)) ofCourses.set(taught, at);
    }
  }
  for await (const records of walk('orgs')) {
    const school = records.find(({ type, status }) => type === 'school' && !isGone(status));
    if (school) return { ofCourses, first: idText(school) };
  }
  return { ofCourses, first: undefined };
}

const orgAt = collections.courses.fields.findIndex(({ name }) => name === 'org');

/** A course that finds no school is refused. */
export async function fillOrgs(batch: SourceBatch, findSchools: FindSchools, problems: Problems): Promise<SourceBatch> {
  if (batch.rows.every(({ values }) => values[orgAt] !== undefined)) return batch;
  const { ofCourses, first } = await findSchools();
  const filled: SourceBatch = { rows: [], rejected: batch.rejected };
  for (const row of batch.rows) {
    const { line, sourcedId, values, lacks = [] } = row;
    const school = ofCourses.get(sourcedId) ?? first;
    if (values[orgAt] !== undefined) filled.rows.push(row);
    else if (school !== undefined) filled.rows.push({ ...row, values: values.with(orgAt, school), lacks: [...lacks, 'org'] } satisfies SourceRow);
    else {
      problems.add({ file: 'courses', line, column: 'org', value: '', rule: 'must not be blank: there is no class of it, and no school at all' });
      filled.rejected.push({ line, sourcedId, fault: problems.total });
    }
  }
  return filled;
}
