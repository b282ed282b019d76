// In charge of reading a whole roster for the operator: everything of one establishment, all from one version.
import type { ExportedRow } from '../collection/export-rows.ts';
import type { PersonPart } from '../collection/person-parts.ts';
import type { Db } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import type { Resource, Status } from '../roster/resource.ts';
import { variantB } from './dialects/variant-b.ts';
import { findFieldPath, type Version } from './field-path.ts';
import { operations } from './operations.ts';
import type { Question } from './question.ts';
import { readingFrom } from './readings.ts';
import { findVersion } from './render.ts';
import { RosterMoved } from './roster-facts.ts';
import type { Target } from './visibility.ts';
import { findSource } from './source.ts';
import { selectMetadataKeys } from './statements.ts';

const dialect = variantB;

export async function readRoster(db: Db, estab: string) {
  const [at] = await db<Pick<Target, 'estab' | 'rosterId' | 'version' | 'current' | 'keptFrom'>[]>`
    select estab, id as "rosterId", version, version as current, kept_from as "keptFrom" from roster where estab = ${estab}`;
  if (!at) throw new Error(`there is no roster for ${estab}`);
  const targetOf = (resource: Resource): Target => ({ ...at, kinds: resource.kinds, people: collections.users.kinds, byAnyKind: dialect.byAnyKind });
  const reading = readingFrom(db);
  const versions = new Map([[estab, await reading.facts.versions(db, targetOf(collections.orgs))]]);

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
    };
  };
  return {
    version: at.version,
    metadataKeys: (resource: Resource, status?: Status) => selectMetadataKeys(reading, question(resource, status), targetOf(resource)),
    count: async (resource: Resource, status?: Status) => (await findSource(reading, question(resource, status))).total(),
    unpairedLists: async ({ table, fields }: Resource, status?: Status) => {
      const found: string[] = [];
      for (const { column, csv = '', pairedWith } of fields) {
        const other = fields.find(({ name }) => name === pairedWith);
        if (!other) continue;
        const [row] = await db`
          select from ${db(table)} t where t.estab = ${estab} and cardinality(t.${db(column)}) <> coalesce(cardinality(t.${db(other.column)}), 0)
            ${status === undefined ? db`` : db`and t.status = ${status}`} limit 1`;
        if (row) found.push(csv);
      }
      return found;
    },
    hasProfiles: async (status?: Status) => {
      const [row] = await db`
        select from roster_user where estab = ${estab} and user_profiles is not null ${status === undefined ? db`` : db`and status = ${status}`} limit 1`;
      return row !== undefined;
    },
    sharedIds: async ({ column, key }: PersonPart, status?: Status) => {
      const rows = await db<{ id: string }[]>`
        select i.item ->> ${key} as id from roster_user t cross join lateral jsonb_array_elements(t.${db(column)}) i (item)
        where t.estab = ${estab} and i.item ? ${key} ${status === undefined ? db`` : db`and t.status = ${status}`} group by 1 having count(*) > 1`;
      return new Set(rows.map(({ id }) => id));
    },
    rows: (resource: Resource, status?: Status) => readStored(db, at, versions.get(estab) ?? [], resource, status),
    async *records(resource: Resource, status?: Status): AsyncGenerator<string> {
      const source = await findSource(reading, question(resource, status));
      const { pieces, close } = await source.open({ limit: undefined, offset: 0 });
      try {
        for await (const { bytes } of pieces) yield bytes.toString();
      } finally {
        await close();
      }
    },
  };
}

const rowsAtOnce = 2_000;

/** In the order of their ids. */
async function* readStored(
  db: Db,
  { estab, version }: Pick<Target, 'estab' | 'version'>,
  versions: readonly Version[],
  resource: Resource,
  status: Status | undefined,
): AsyncGenerator<ExportedRow[]> {
  for (let after = ''; ; ) {
    const rows = await db<{ row: ExportedRow['row']; current: number }[]>`
      select to_jsonb(t) as row, (select version from roster where estab = ${estab}) as current from ${db(resource.table)} t
      where t.estab = ${estab} and t.sourced_id > ${after} ${status === undefined ? db`` : db`and t.status = ${status}`}
      order by t.sourced_id limit ${rowsAtOnce}`;
    if (rows.some(({ current }) => current !== version)) throw new RosterMoved();
    const last = rows.at(-1);
    if (!last) break;
    after = last.row.sourced_id;
    yield rows.map(({ row }) => ({ row, modified: findVersion(versions, row.version)?.stamp ?? '' }));
  }
  const [now] = await db<{ version: number }[]>`select version from roster where estab = ${estab}`;
  if (now?.version !== version) throw new RosterMoved();
}
