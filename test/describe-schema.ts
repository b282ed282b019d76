// In charge of writing a database's schema down as SQL, from its catalog, the same way every time.
import type { Db } from '../src/db/connect.ts';

const inPublic = `'public'::regnamespace`;
/** What this file knows how to write down: tables, indexes, and what belongs to them. */
const knownKinds = ['r', 'i', 't'];

export async function describeSchema(db: Db): Promise<string> {
  await refuseUnknown(db);
  const parts = [...(await describeCollations(db)), ...(await describeFunctions(db)), ...(await describeTables(db))];
  return `-- Generated from the migrations by "npm run generate"; compared in the tests. Change the schema by a new migration.\n\n${parts.join('\n\n')}\n`;
}

async function refuseUnknown(db: Db): Promise<void> {
  const extensions = await db`select extname as name from pg_extension where extname <> 'plpgsql'`;
  const relations =
    await db`select relname as name from pg_class where relnamespace = ${db.unsafe(inPublic)} and not relkind::text = any(${knownKinds})
      and not exists (select from pg_depend d where d.objid = pg_class.oid and d.deptype = 'i')`;
  const types = await db`select typname as name from pg_type where typnamespace = ${db.unsafe(inPublic)} and typtype in ('e', 'd', 'r')`;
  // Citus distributes no table that has a trigger.
  const triggers = await db`select tgname as name from pg_trigger where not tgisinternal`;
  const unknown = [...extensions, ...relations, ...types, ...triggers].map((row) => row.name as string);
  if (unknown.length > 0) throw new Error(`test/describe-schema.ts does not know how to describe ${unknown.join(', ')}`);
}

async function describeCollations(db: Db): Promise<string[]> {
  const rows = await db<{ name: string; provider: string; locale: string; deterministic: boolean }[]>`
    select quote_ident(collname) as name, case collprovider when 'b' then 'builtin' when 'i' then 'icu'
      else 'libc' end as provider, quote_literal(coalesce(colllocale, collcollate)) as locale, collisdeterministic as deterministic
    from pg_collation where collnamespace = ${db.unsafe(inPublic)} order by collname collate "C"`;
  return rows.map(
    ({ name, provider, locale, deterministic }) =>
      `create collation ${name} (provider = ${provider}, locale = ${locale}${deterministic ? '' : ', deterministic = false'});`,
  );
}

async function describeFunctions(db: Db): Promise<string[]> {
  const rows = await db<{ definition: string }[]>`
    select pg_get_functiondef(oid) as definition from pg_proc where pronamespace = ${db.unsafe(inPublic)} and prokind in ('f', 'p')
    order by proname collate "C", pg_get_function_identity_arguments(oid) collate "C"`;
  return rows.map(({ definition }) => `${definition.trimEnd()};`);
}

async function describeTables(db: Db): Promise<string[]> {
  type Lines = { columns: string[]; constraints: string[] | null; indexes: string[] | null };
  const tables = await db<({ oid: number; name: string; unlogged: boolean } & Lines)[]>`
    select c.oid, quote_ident(c.relname) as name, c.relpersistence = 'u' as unlogged,
      (select array_agg(concat_ws(' ',
          quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
          case when a.attcollation <> 0 and a.attcollation <> t.typcollation then 'collate ' || quote_ident(l.collname) end,
          case when a.attidentity <> '' then 'generated ' || case a.attidentity when 'a' then 'always' else 'by default' end || ' as identity' end,
          case when a.attgenerated <> '' then 'generated always as (' || pg_get_expr(d.adbin, d.adrelid) || ') '
                 || case a.attgenerated when 's' then 'stored' else 'virtual' end
               when d.adbin is not null then 'default ' || pg_get_expr(d.adbin, d.adrelid) end,
          case when a.attnotnull then 'not null' end) order by a.attnum)
        from pg_attribute a join pg_type t on t.oid = a.atttypid left join pg_collation l on l.oid = a.attcollation left
          join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
      (select array_agg('constraint ' || quote_ident(k.conname) || ' ' || pg_get_constraintdef(k.oid)
        order by position(k.contype::text in 'pucfx'), k.conname collate "C")
        from pg_constraint k where k.conrelid = c.oid and k.contype <> 'n') as constraints,
      (select array_agg(pg_get_indexdef(i.indexrelid) || ';' order by pg_get_indexdef(i.indexrelid) collate "C")
        from pg_index i where i.indrelid = c.oid
          and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.conrelid = c.oid)) as indexes
    from pg_class c where c.relnamespace = ${db.unsafe(inPublic)} and c.relkind = 'r' order by c.relname collate "C"`;
  return tables.map(({ name, unlogged, columns, constraints, indexes }) => {
    const lines = [...columns, ...(constraints ?? [])].map((line) => `  ${line}`).join(',\n');
    return [`create ${unlogged ? 'unlogged ' : ''}table ${name} (\n${lines}\n);`, ...(indexes ?? [])].join('\n');
  });
}
