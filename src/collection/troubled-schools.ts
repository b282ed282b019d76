// In charge of which schools' data needs a person: an import that is held, collections that fail, data that should have been
// collected again long ago. And of how old the data of all schools is.
import type { Db, Fragment, Sql } from '../db/connect.ts';
import { databaseNames, type DatabaseName } from './connector.ts';

export type SchoolTrouble = 'held' | 'failing' | 'stale';
/** since: when it began, as far as that is known. */
export type TroubledSchool = {
  trouble: SchoolTrouble;
  estab: string;
  name: string;
  database: DatabaseName;
  since: Date | null;
  message: string | null;
  /** Nobody can be asked: packages are brought. */
  uploads: boolean;
};
/** fresh: within its time to live; lasting: uploaded, and as good as the last upload; old: beyond its time; none: nothing was collected yet. */
export type Freshness = { database: DatabaseName; fresh: number; lasting: number; old: number; none: number };

/** A roster is read again in the hour after three at night, so that it may be due for nearly an hour; a collection takes its time. */
const patienceMinutes = 120;

/**
 * What is wrong with database d, for whoever lists, counts or warns. A package that is refused leaves the status of the data that is there; that
 * the school was told of it stays until all is well again.
 */
export const troubles: Readonly<Record<SchoolTrouble, (sql: Sql) => Fragment>> = {
  held: (sql) => sql`(d.status = 'Paused' and d.refreshing_since is null)`,
  failing: (sql) => sql`(d.status in ('Error', 'Timeout') or d.told is not distinct from 'refused')`,
  stale: (sql) => sql`coalesce(d.expires_at < now() - make_interval(mins => ${patienceMinutes}), false)`,
};

/** The longest troubled first, of each kind so many; a school is in trouble once, the worst of it. Of each school there are a few rows at most. */
export async function listTroubledSchools(db: Db, mostOfEach: number): Promise<TroubledSchool[]> {
  return db<TroubledSchool[]>`
    select trouble, estab, name, database, since, message, uploads from (
      select worst.*, row_number() over (partition by trouble order by since, estab) as place from (
        select distinct on (d.estab) t.trouble, d.estab, e.name, d.name as database, d.message,
          coalesce(e.connector = 'csv', true) and not exists (select from connector_setting s where s.estab = e.estab and s.settings ? 'folder') as uploads,
          case t.trouble when 'held' then coalesce(d.told_at, d.failing_since) when 'failing' then coalesce(d.failing_since, d.told_at)
            else d.expires_at end as since
        from component_database d join establishment e on e.estab = d.estab and e.confirmed_at is not null
        cross join lateral (select case when ${troubles.held(db)} then 'held' when ${troubles.failing(db)} then 'failing'
          when ${troubles.stale(db)} then 'stale' end as trouble) t
        where t.trouble is not null
        order by d.estab, array_position(array['held', 'failing', 'stale'], t.trouble), d.name desc) worst) placed
    where place <= ${mostOfEach} order by trouble, place`;
}

/** How old database d is, for whoever counts and whoever lists. */
export const ages = {
  old: (sql: Sql): Fragment => sql`(d.updated_at is not null and d.expires_at <= now())`,
  none: (sql: Sql): Fragment => sql`(d.updated_at is null)`,
} as const;

export async function readFreshness(db: Db): Promise<Freshness[]> {
  const rows = await db<Freshness[]>`
    select d.name as database, (count(*) filter (where d.updated_at is not null and d.expires_at > now()))::int as fresh,
      (count(*) filter (where d.updated_at is not null and d.expires_at is null))::int as lasting,
      (count(*) filter (where ${ages.old(db)}))::int as old, (count(*) filter (where ${ages.none(db)}))::int as none
    from component_database d group by 1`;
  return databaseNames.map((database) => rows.find((row) => row.database === database) ?? { database, fresh: 0, lasting: 0, old: 0, none: 0 });
}
