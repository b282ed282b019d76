// A database whose clock a test can set: `now()` and `clock_timestamp()` are functions of the schema public there, and found before those of
// PostgreSQL. Only the database's clock moves; the clock of the process stays.
import { connect } from '../src/db/connect.ts';
import { usePlainDatabase, type TestDatabase } from './database.ts';

export type DatabaseClock = {
  /** Lets the clock go on, ahead of the real time by these milliseconds. */
  setAhead(ms: number): Promise<void>;
  /** Stops the clock at an instant. */
  stopAt(at: Date): Promise<void>;
};

export async function useDatabaseClock(): Promise<{ database: TestDatabase; clock: DatabaseClock }> {
  const database = await usePlainDatabase();
  const setup = connect(database.url, { max: 1, name: 'test clock' });
  const [named] = await setup<{ name: string }[]>`select current_database() as name`;
  await setup.unsafe(`alter database ${named?.name} set search_path = public, pg_catalog`);
  await setup.unsafe('set search_path = public, pg_catalog');
  await setup.unsafe(`
    create table test_clock (ahead interval not null, stopped_at timestamptz);
    insert into test_clock (ahead) values ('0');
    create function public.now() returns timestamptz language sql stable
      as 'select coalesce(stopped_at, pg_catalog.now() + ahead) from public.test_clock';
    create function public.clock_timestamp() returns timestamptz language sql volatile
      as 'select coalesce(stopped_at, pg_catalog.clock_timestamp() + ahead) from public.test_clock';
    do $$ declare one record; begin
      for one in select c.table_name, c.column_name, c.column_default from information_schema.columns c
        where c.table_schema = 'public' and c.column_default ~ '(now|clock_timestamp)\\(\\)' loop
        execute format('alter table %I alter column %I set default %s', one.table_name, one.column_name, replace(one.column_default, 'pg_catalog.', ''));
      end loop;
    end $$`);
  await setup.end({ timeout: 5 });
  const { db } = database;
  return {
    database,
    clock: {
      async setAhead(ms) {
        await db`update test_clock set ahead = make_interval(secs => ${ms / 1000}::float8), stopped_at = null`;
      },
      async stopAt(at) {
        await db`update test_clock set stopped_at = ${at}`;
      },
    },
  };
}
