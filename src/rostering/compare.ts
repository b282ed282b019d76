// In charge of turning a check of the filter into SQL. A missing value matches nothing but !=. Conditions are only
// ever joined by and / or, so that "unknown" counts as no match.
import type { Fragment, Sql } from '../db/connect.ts';
import type { PathContext, Version } from './field-path.ts';
import { parseInstant } from './instant.ts';
import type { Check } from './list-request.ts';

export function compareSql(sql: Sql, { path, operator, value }: Check, context: PathContext): Fragment {
  const field = path.sql(sql, context);
  switch (path.comparison) {
    case 'exact':
      return compareText(sql, field, operator, sql`${value}::text`);
    case 'text':
      return compareText(sql, fold(sql, field), operator, fold(sql, sql`${value}::text`));
    case 'date':
      return operator === '~'
        ? contains(sql, sql`to_char(${field}, 'YYYY-MM-DD')`, sql`${value}::text`)
        : order(sql, sql`(${field}::timestamp at time zone 'UTC')`, operator, instantSql(sql, value));
    case 'instant':
      return compareVersions(sql, operator, value, context);
    case 'exactList':
      return compareList(sql, field, operator, sql`${listItems(value)}::text[]`);
    case 'textList':
      return compareList(sql, foldAll(sql, field), operator, foldAll(sql, sql`${listItems(value)}::text[]`));
  }
}

function fold(sql: Sql, text: Fragment): Fragment {
  return sql`(lower(${text} collate roster_fold) collate "C")`;
}

function foldAll(sql: Sql, list: Fragment): Fragment {
  return sql`(select array_agg(${fold(sql, sql`item`)}) from unnest(${list}) item)`;
}

function compareText(sql: Sql, field: Fragment, operator: Check['operator'], value: Fragment): Fragment {
  return operator === '~' ? contains(sql, field, value) : order(sql, field, operator, value);
}

function contains(sql: Sql, field: Fragment, value: Fragment): Fragment {
  return sql`strpos(${field}, ${value}) > 0`;
}

function order(sql: Sql, field: Fragment, operator: Check['operator'], value: Fragment): Fragment {
  return operator === '!=' ? sql`${field} is distinct from ${value}` : sql`${field} ${sql.unsafe(operator)} ${value}`;
}

function compareList(sql: Sql, field: Fragment, operator: Check['operator'], values: Fragment): Fragment {
  if (operator === '~') return sql`${field} && ${values}`;
  return operator === '=' ? sql`${field} @> ${values}` : sql`not coalesce(${field} @> ${values}, false)`;
}

/** A record's dateLastModified is the instant of a version, so that times become ranges of versions, which are indexed. */
function compareVersions(sql: Sql, operator: Check['operator'], value: string, { versions }: PathContext): Fragment {
  return inRanges(sql, versionRanges(operator, value, versions));
}

/** The versions whose instant compares like that. */
export function versionRanges(operator: Check['operator'], value: string, versions: readonly Version[]): [number, number][] {
  const wanted = parseInstant(value) ?? 0;
  const text = value.toUpperCase();
  const matches = ({ instant, stamp }: Version): boolean => {
    if (operator === '~') return stamp.includes(text);
    return {
      '=': instant === wanted,
      '!=': instant !== wanted,
      '>': instant > wanted,
      '>=': instant >= wanted,
      '<': instant < wanted,
      '<=': instant <= wanted,
    }[operator];
  };
  return findRanges(versions, matches);
}

function findRanges(list: readonly Version[], matches: (version: Version) => boolean): [number, number][] {
  const ranges: [number, number][] = [];
  let open = false;
  for (const version of list) {
    const hit = matches(version);
    if (hit && !open) ranges.push([version.version, version.version]);
    const last = ranges.at(-1);
    if (hit && last) last[1] = version.version;
    open = hit;
  }
  return ranges;
}

function inRanges(sql: Sql, ranges: readonly [number, number][]): Fragment {
  if (ranges.length === 0) return sql`false`;
  return sql`(${ranges.map(([from, to]) => sql`t.version between ${from}::int and ${to}::int`).reduce((all, one) => sql`${all} or ${one}`)})`;
}

function listItems(value: string): string[] {
  const items = value.split(',').map((item) => item.trim()).filter(Boolean);
  return items.length > 0 ? items : [''];
}

function instantSql(sql: Sql, value: string): Fragment {
  return sql`to_timestamp(${(parseInstant(value) ?? 0) / 1000}::float8)`;
}
