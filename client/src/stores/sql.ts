// In charge of a copy in SQL: every step of a store as the statements of one transaction, for whoever runs them. They are
// generators, so that one runner may wait between statements and another must not.
import { LeaseLost, SameIdTwice } from '../sync-errors.ts';
import type { Change, Kept, Part, Row, Store, Tally } from '../sync-store.ts';

/** @internal */
export type Statement = { text: string; values: unknown[] };
/** @internal */
export type Answer = Record<string, unknown>;
/** @internal */
export type Steps<T> = Generator<Statement, T, Answer[]>;
/** @internal Runs all of it in one transaction, taken back if anything throws. */
export type RunSteps = <T>(make: () => Steps<T>) => Promise<T>;

/** @internal */
export type SqlDialect = {
  /** The type of a record's column, and the milliseconds since 1970 by the database's clock. */
  json: string;
  nowMs: string;
  /** Gives a row where the table is there. */
  exists: (table: string) => Statement;
  /** Before tables are made, so that two who make them do not meet. */
  beforeMaking?: string;
};

/** Old builds of SQLite take no more than 999 values. */
const rowsPerStatement = 150;

/** @internal */
export function sqlStore(run: RunSteps, { json, nowMs, exists, beforeMaking }: SqlDialect, prefix: string): Store {
  // PostgreSQL cuts names after 63 characters, where four tables would be one.
  if (!/^([a-z_]\w*\.)?[a-z_]\w{0,49}$/i.test(prefix)) throw new TypeError(`The prefix "${prefix}" is not a name that tables can begin with.`);
  const [records, staged, outbox, state] = ['record', 'staged', 'change', 'state'].map((name) => prefix + name);
  const pair = 'r.collection = s.collection and r.id = s.id';
  const differs = '(r.record <> s.record or (r.record is null) <> (s.record is null))';
  const cast = json === 'text' ? '' : `::${json}`;
  const ask = (text: string, ...values: unknown[]): Statement => ({ text, values });

  function* makeTables(): Steps<void> {
    if ((yield exists(state ?? '')).length > 0) return;
    if (beforeMaking) yield ask(beforeMaking);
    const id = 'collection text not null, id text not null, part text not null';
    yield ask(`create table if not exists ${records} (${id}, record ${json} not null, primary key (collection, id))`);
    yield ask(`create table if not exists ${staged} (${id}, place integer not null, record ${json}, primary key (collection, id))`);
    yield ask(
      `create table if not exists ${outbox} (seq bigint primary key, collection text not null, id text not null, was ${json}, becomes ${json})`,
    );
    yield ask(`create table if not exists ${state} (one integer primary key, holder text, lease bigint, until bigint, copy text, run text)`);
  }

  function* fence(holder: string): Steps<void> {
    const held = yield ask(`update ${state} set until = ${nowMs} + lease where holder = $1 returning one`, holder);
    if (held.length === 0) throw new LeaseLost();
  }

  function* insertRows(rows: readonly Row[]): Steps<void> {
    for (let at = 0; at < rows.length; at += rowsPerStatement) {
      const some = rows.slice(at, at + rowsPerStatement);
      const values = some.flatMap(({ collection, id, part, place, record }) => [collection, id, part, place, record && JSON.stringify(record)]);
      const tuples = some.map((_, index) => `(${[1, 2, 3, 4, 5].map((column) => `$${index * 5 + column}`).join()}${cast})`);
      const text = `insert into ${staged} (collection, id, part, place, record) values ${tuples.join()} on conflict (collection, id) do nothing returning id`;
      const inserted = (yield ask(text, ...values)).map((row) => row.id);
      const twice = some.find(({ id }, at) => !inserted.includes(id) || some.findIndex((row) => row.id === id) < at);
      if (twice) throw new SameIdTwice(twice.collection, twice.id);
    }
  }

  return {
    open: (holder, leaseMs) =>
      run(function* open() {
        yield* makeTables();
        // Somebody may have emptied them, to begin anew.
        yield ask(`insert into ${state} (one) values (1) on conflict (one) do nothing`);
        const free = `holder is null or until < ${nowMs}`;
        const [own] = yield ask(`update ${state} set holder = $1, lease = $2, until = ${nowMs} + $2 where ${free} returning copy, run`, holder, leaseMs);
        if (own) return { copy: own.copy as string | null, run: own.run as string | null };
        const [other] = yield ask(`select until from ${state}`);
        return { heldUntil: new Date(Number(other?.until)) };
      }),
    renew: (holder) => run(() => fence(holder)),
    stage: (holder, progress, { clear, rows = [], rest }) =>
      run(function* stage() {
        yield* fence(holder);
        if (clear === true) yield ask(`delete from ${staged}`);
        else if (clear !== undefined) yield ask(`delete from ${staged} where collection = $1`, clear);
        yield* insertRows(rows);
        if (rest)
          yield ask(
            `insert into ${staged} (collection, id, part, place) select collection, id, part, cast($2 as integer) from ${records} r where collection = $1
              and not exists (select 1 from ${staged} s where ${pair})`,
            rest.collection,
            rest.place,
          );
        yield ask(`update ${state} set run = $1`, progress);
      }),
    compare: () =>
      run(function* compare() {
        const parts = yield ask(`select collection, part, sum(had) as had, sum(gone) as gone, sum(come) as come from (
          select collection, part, count(*) as had, 0 as gone, 0 as come from ${records} group by collection, part
          union all select r.collection, r.part, 0, count(*), 0 from ${staged} s join ${records} r on ${pair}
            where s.record is null group by r.collection, r.part
          union all select s.collection, s.part, 0, 0, count(*) from ${staged} s left join ${records} r on ${pair}
            where s.record is not null and r.id is null group by s.collection, s.part) each_part group by collection, part`);
        return parts.map(({ collection, part, had, gone, come }) => ({ collection, part, had: Number(had), gone: Number(gone), come: Number(come) }) as Part);
      }),
    publish: (holder, copy, keep) =>
      run(function* publish() {
        yield* fence(holder);
        const counts = yield ask(`select s.collection, sum(case when r.id is null then 1 else 0 end) as added,
            sum(case when s.record is null then 1 else 0 end) as removed, count(*) as differing
          from ${staged} s left join ${records} r on ${pair} where ${differs} group by s.collection`);
        const [untold] = yield ask(`select max(seq) as seq from ${outbox}`);
        const last = Number(untold?.seq ?? 0);
        if (keep || last > 0)
          yield ask(
            `insert into ${outbox} (seq, collection, id, was, becomes)
              select $1 + row_number() over (order by s.place, s.collection, s.id), s.collection, s.id, r.record, s.record
              from ${staged} s left join ${records} r on ${pair} where ${differs}`,
            last,
          );
        yield ask(`delete from ${records} where exists (select 1 from ${staged} s where s.collection = ${records}.collection and s.id = ${records}.id
          and s.record is null)`);
        yield ask(`insert into ${records} as r (collection, id, part, record) select collection, id, part, record from ${staged} where record is not null
          on conflict (collection, id) do update set part = excluded.part, record = excluded.record where r.record <> excluded.record`);
        yield ask(`delete from ${staged}`);
        yield ask(`update ${state} set copy = $1, run = null`, copy);
        return counts.map(({ collection, added, removed, differing }): Tally => ({
          collection: collection as string,
          added: Number(added),
          changed: Number(differing) - Number(added) - Number(removed),
          removed: Number(removed),
        }));
      }),
    changes: (most) =>
      run(function* changes() {
        const rows = yield ask(`select seq, collection, id, was, becomes from ${outbox} order by seq limit $1`, most);
        const told = rows.map(({ collection, id, was, becomes }) => ({ collection, id, before: parse(was), after: parse(becomes) }) as Change);
        return { upTo: Number(rows.at(-1)?.seq ?? 0), changes: told };
      }),
    told: (holder, upTo) =>
      run(function* told() {
        yield* fence(holder);
        yield ask(`delete from ${outbox} where seq <= $1`, upTo);
      }),
    close: (holder) =>
      run(function* close() {
        yield ask(`update ${state} set holder = null where holder = $1`, holder);
      }),
    records: (collection) =>
      run(function* list() {
        const rows = yield ask(`select id, record from ${records} where collection = $1`, collection);
        const kept = rows.map((row) => parse(row.record) as Kept);
        return kept.sort((a, b) => (a.sourcedId < b.sourcedId ? -1 : 1));
      }),
  };
}

/** Some drivers have parsed it already. */
function parse(value: unknown): Kept | null {
  return (typeof value === 'string' ? JSON.parse(value) : value) as Kept | null;
}
