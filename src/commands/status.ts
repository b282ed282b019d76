// In charge of the command that says how things stand.
import { shownState } from '../access/authorisations.ts';
import type { Command } from './command.ts';

type School = { estab: string; name: string; version: number; lastChanged: Date | null; lastImport: string | null; lastImportAt: Date | null; records: number };

export const statusCommands: readonly Command[] = [
  {
    name: 'status',
    help: 'Shows the database and, for each school, its roster, its last import and who may read it.',
    options: {},
    async run({ db, config }) {
      const [server] =
        await db`select current_setting('server_version') as version, (select max(version)
          from migration) as migration, pg_database_size(current_database())::float8 as bytes`;
      const schools = await db<School[]>`
        select e.estab, e.name, r.version, v.instant as "lastChanged", i.outcome as "lastImport", i.finished_at as "lastImportAt",
          (select coalesce(sum(count), 0)::int from roster_total t where t.estab = e.estab and t.status = 'active') as records
        from establishment e join roster r using (estab)
        left join roster_version v on v.estab = r.estab and v.version = r.version
        left join lateral (select outcome, finished_at from import_run i where i.estab = e.estab order by started_at desc limit 1) i on true
        order by e.estab`;
      const databases = await db<{ estab: string; name: string; status: string; updatedAt: Date | null; rowCount: number; message: string | null }[]>`
        select estab, name, case when refreshing_since is null then status when progress is null then 'Updating'
          else 'Updating ' || round((progress * 100)::numeric) || ' %' end as status, updated_at as "updatedAt", row_count as "rowCount", message
            from component_database order by estab, name`;
      const authorisations = await db<{ estab: string; rp: string; state: string; scopes: string[] }[]>`
        select a.estab, a.rp, ${shownState(db)} as state, a.scopes from authorisation a join establishment e using (estab)
        union all select i.estab, i.rp, i.state, i.required_scopes || i.optional_scopes from invitation i where i.state in ('Proposed', 'Invited')
          and not exists (select from authorisation a where a.estab = i.estab and a.rp = i.rp)
        order by 1, 2`;
      const data = {
        database: {
          postgres: server?.version as string,
          migration: server?.migration as number,
          bytes: server?.bytes as number,
          embedded: config.databaseUrls === undefined,
        },
        schools,
        databases,
        authorisations,
      };
      return {
        data,
        lines: [
          `PostgreSQL ${data.database.postgres}, migration ${data.database.migration}, ${Math.round(data.database.bytes / 1024 ** 2)} MB`,
          ...schools.map(
            (one) =>
              `${one.estab}\t${one.name}\t${one.records} records\tversion ${one.version}\t` +
              `last changed ${one.lastChanged?.toISOString() ?? 'never'}\tlast import ${one.lastImport ?? 'none'}`,
          ),
          ...databases.map(
            (one) =>
              `${one.estab}\t${one.name}\t${one.status}\t${one.rowCount} rows\tlast collected ${one.updatedAt?.toISOString() ?? 'never'}\t${one.message ?? ''}`,
          ),
          ...authorisations.map((one) => `${one.estab}\t${one.rp}\t${one.state}\t${one.scopes.join(', ')}`),
        ],
      };
    },
  },
];
