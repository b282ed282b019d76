// In charge of a field as an edition shows it where it differs from what is kept: its words, what is said of it, and in SQL its value of a row t, for filters
// and sorting. What stands in a record is made by `record`, in the same way.
import type { Fragment, Sql } from '../db/connect.ts';
import { valuesOf, type Edition, type Field } from './resource.ts';

/** The vocabulary of an enumeration; extended: also by words that begin with `ext:`. */
export function wordsOf(field: Field, edition: Edition): { words: readonly string[]; extended: boolean } {
  return { words: valuesOf(field, edition), extended: edition === 'v1p1' ? field.foreign === 'shown' : field.closed === undefined };
}

/** What it is, for whoever reads the documentation. */
export function aboutOf({ about, blank }: Field, edition: Edition): string {
  if (blank === undefined || edition === 'v1p1') return about;
  return `${about} Where the source has none: ${blank === 'sourcedId' ? 'its `sourcedId`' : blank}.`;
}

export function shownColumn(sql: Sql, field: Field, edition: Edition): Fragment {
  const column = sql`t.${sql(field.column)}`;
  if (edition === 'v1p1') return field.foreign === 'omitted' ? sql`(case when ${column} = any(${[...valuesOf(field, edition)]}) then ${column} end)` : column;
  if (field.otherwiseSql) return sql`coalesce(${column}, ${field.otherwiseSql(sql)})`;
  if (field.blank) return field.blank === 'sourcedId' ? sql`coalesce(${column}, t.sourced_id)` : sql`coalesce(${column}, ${field.blank === 'true'})`;
  if (field.spelled) return sql`coalesce(${sql.json(field.spelled)}::jsonb ->> ${column}, ${column})`;
  return field.required === 'v1p1' ? sql`(case when ${field.name} = any(t.lacks) then null else ${column} end)` : column;
}
