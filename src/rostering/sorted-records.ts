// In charge of what one school is asked for where several are sorted together: what follows a record in the order of the sort, and records
// by their ids. Each is one statement, of the version that is asked for, wherever it can be answered.
import type { Db } from '../db/connect.ts';
import type { Reading } from './by-school.ts';
import { makePlan, type Position } from './plan.ts';
import type { Question } from './question.ts';
import { asItStands } from './read-again.ts';
import { findVersion } from './render.ts';
import type { Ask, Row } from './school-in-order.ts';
import { toSortKey } from './sort-key.ts';
import { finishOf, listRows, readVersions, requireSame, separator, type Reader, type Standing } from './statements.ts';
import type { Target } from './visibility.ts';

export type PoolOf = (reader: Reader, target: Target) => Db;
export type SortedRecords = Readonly<{
  behind(position: Position | undefined, ask: Ask): Promise<readonly Row[]>;
  /** Of records that were listed: each is there at the same version, or something is wrong. */
  byIds(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}>;

type FoundBehind = { standing: Standing | null; keys: [sourcedId: string, key: unknown][] | null; records: string | null };
type FoundById = { standing: Standing; sourcedId: string; json: string };

export function sortedRecords(reading: Reading, question: Question, asked: Target, poolOf: PoolOf): SortedRecords {
  let target = asked;

  /** What a replica cannot answer, `prefer` has asked the primary for before it is tried again: what is behind then is a node of the database. */
  const ask = <T>(work: (reader: Reader) => Promise<T>): Promise<T> => asItStands(reading.primary, target, (standing) => {
    target = standing;
    reading.over?.throwIfAborted();
    return reading.prefer(work);
  });

  async function readBehind(reader: Reader, position: Position | undefined, { count, stride, withRecords }: Ask): Promise<readonly Row[]> {
    const versions = await readVersions(reader, target);
    const sql = poolOf(reader, target);
    const plan = makePlan(sql, question, target, versions);
    const where = position ? sql`${plan.where} and ${plan.behind(position)}` : plan.where;
    const following = listRows(sql, { ...plan, where }, undefined, { limit: count * stride, offset: 0 });
    const rows = stride === 1 ? following : sql`select t.* from (select t.*, row_number() over () as nth from (${following}) t) t where t.nth % ${stride} = 0`;
    const [found] = await sql<FoundBehind[]>`
      select ${plan.standing(reader.isReplica)} as standing, page.*
      from (select json_agg(json_build_array(t.sourced_id, t.key)) as keys, string_agg(t.json, ${separator}) as records
        from (select t.sourced_id, ${plan.sortKey} as key, ${withRecords ? plan.json : sql`null::text`} as json from (${rows}) t) t) page`;
    requireSame(reader, target, versions, found);
    const isInstant = question.sort?.path.comparison === 'instant';
    const sortKeyOf = (key: unknown) => toSortKey(isInstant ? findVersion(versions, Number(key))?.instant : key);
    const finish = finishOf(question, target, versions);
    const keys = found?.keys ?? [];
    const records = found?.records?.split(separator) ?? [];
    if (withRecords && records.length !== keys.length) throw new Error(`${keys.length} records came as ${records.length}`);
    return keys.map(([sourcedId, key], at) => ({ sourcedId, key, sortKey: sortKeyOf(key), json: withRecords ? finish(`${records[at]}}`) : undefined }));
  }

  async function readByIds(reader: Reader, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const versions = await readVersions(reader, target);
    const sql = poolOf(reader, target);
    const plan = makePlan(sql, question, target, versions);
    const rows = await sql<FoundById[]>`
      select ${plan.standing(reader.isReplica)} as standing, t.sourced_id as "sourcedId", ${plan.json} as json
      from ${plan.from} where ${plan.where} and t.sourced_id = any(${ids}::text[])`;
    requireSame(reader, target, versions, rows[0]);
    const finish = finishOf(question, target, versions);
    return new Map(rows.map(({ sourcedId, json }) => [sourcedId, finish(`${json}}`)]));
  }

  return {
    behind: (position, what) => ask((reader) => readBehind(reader, position, what)),
    async byIds(ids) {
      const found = await ask((reader) => readByIds(reader, ids));
      for (const id of ids) if (!found.has(id)) throw new Error(`${id} was listed and is not there at the same version`);
      return found;
    },
  };
}
