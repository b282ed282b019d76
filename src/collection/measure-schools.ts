// In charge of what can be counted about the schools' data: how old it is, how many schools are held, failing, stale or
// still empty, and how long imports took. Over all schools at once, so that thousands make no more series than one.
import type { Db } from '../db/connect.ts';
import { Histogram } from '../histogram.ts';
import type { Metric } from '../http/metrics.ts';
import { minutesToLive } from './component-databases.ts';
import { databaseNames } from './connector.ts';
import { troubles } from './troubled-schools.ts';

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;
/** Around the times to live of both databases. */
const ageBounds = [10 * minute, 30 * minute, hour, 4 * hour, 12 * hour, day, 1.5 * day, 2 * day, 7 * day, 30 * day] as const;
const durationBounds = [1, 5, 15, 30, minute, 2 * minute, 5 * minute, 10 * minute, 30 * minute, hour] as const;
/** A refresh begins when the time to live is over, and takes a while: what is twice as old is stale. */
const staleAfterLives = 2;

type Standing = { database: string; schools: number; held: number; failing: number; stale: number; empty: number };
type Part = { place: number; count: number; sum: number };

const standings = [
  ['schools', 'schoolbell_schools', 'Schools that have this database'],
  ['held', 'schoolbell_schools_held', "Schools whose last collection would remove so much that it waits for a person's decision"],
  ['failing', 'schoolbell_schools_failing', 'Schools whose last collection failed, or whose export job sent a package that was refused'],
  ['stale', 'schoolbell_schools_stale', 'Schools whose data is more than twice as old as it should get'],
  ['empty', 'schoolbell_schools_empty', 'Schools of which nothing was collected yet'],
] as const;

export async function measureSchools(db: Db): Promise<Metric[]> {
  const counted = await db<Standing[]>`
    select name as database, count(*)::int as schools, (count(*) filter (where ${troubles.held(db)}))::int as held,
      (count(*) filter (where ${troubles.failing(db)}))::int as failing,
      (count(*) filter (where expires_at is not null and updated_at < now() - make_interval(mins => ${staleAfterLives} *
        case name when 'Attendance' then ${minutesToLive.Attendance}::int else ${minutesToLive.SchoolData}::int end)))::int as stale,
      (count(*) filter (where updated_at is null))::int as empty
    from component_database d group by 1`;
  const ages = await db<(Part & { database: string; source: string })[]>`
    select database, source, width_bucket(age, ${[...ageBounds]}::float8[]) as place, count(*)::int as count, sum(age)::float8 as sum from (
      select name as database, case when expires_at is null then 'uploaded' else 'collected' end as source,
        extract(epoch from now() - updated_at)::float8 as age from component_database where updated_at is not null) aged
    group by 1, 2, 3`;
  const imports = await db<(Part & { outcome: string })[]>`
    select outcome, width_bucket(seconds, ${[...durationBounds]}::float8[]) as place, count(*)::int as count, sum(seconds)::float8 as sum from (
      select outcome, extract(epoch from finished_at - started_at)::float8 as seconds from import_end where finished_at > now() - interval '1 day') finished
    group by 1, 2`;
  return [
    ...standings.map(
      ([field, name, help]): Metric => ({
        name,
        help,
        type: 'gauge',
        // A database that no school has is a zero too, so that an alert sees it change.
        values: databaseNames.map((database) => ({ labels: { database }, value: counted.find((row) => row.database === database)?.[field] ?? 0 })),
      }),
    ),
    {
      name: 'schoolbell_school_data_age_seconds',
      help: 'How old the data of the schools is now, by how it comes; counted anew each time, so read it without rate()',
      type: 'histogram',
      values: spread(ages, ageBounds, ({ database, source }) => ({ database, source })),
    },
    {
      name: 'schoolbell_import_duration_seconds',
      help: 'How long the imports of the last day took, by how they ended; counted anew each time, so read it without rate()',
      type: 'histogram',
      values: spread(imports, durationBounds, ({ outcome }) => ({ outcome })),
    },
  ];
}

function spread<Row extends Part>(rows: readonly Row[], bounds: readonly number[], labelsOf: (row: Row) => Record<string, string>) {
  return [...Map.groupBy(rows, (row) => JSON.stringify(labelsOf(row)))].map(([key, parts]) => {
    const value = new Histogram(bounds);
    for (const part of parts) value.add(part);
    return { labels: JSON.parse(key) as Record<string, string>, value };
  });
}
