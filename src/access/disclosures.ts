// In charge of the ledger of what applications read: per application, school, day and collection, how many records and
// which fields. Each process sums up for itself and writes about once a second, so that no request waits for it.
import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from '../db/connect.ts';
import { deleteOfSchool } from '../db/delete-in-batches.ts';
import { DatabaseUnavailable } from '../db/unavailable.ts';

export type Disclosure = { estab: string; rp: string; collection: string; records: number; fields: readonly string[] };
export type Ledger = { note(disclosure: Disclosure): void; write(): Promise<void>; close(): Promise<void> };

type Sum = { estab: string; rp: string; collection: string; requests: number; records: number; fields: Set<string>; last: Iterable<string> | undefined };

type OfSchool = [estab: string, sums: Sum[]];

const writeEveryMs = 1_000;
const schoolsAtOnce = 100;

export function createLedger(db: Db): Ledger {
  let sums = new Map<string, Sum>();
  let writing: Promise<void> | undefined;

  /** A statement for each school; those of a hundred are sent at once, in the order in which every process goes through them. */
  async function write(): Promise<void> {
    const sent = [...Map.groupBy(sums.values(), ({ estab }) => estab)].toSorted(([one], [other]) => (one < other ? -1 : 1));
    sums = new Map();
    const failures: unknown[] = [];
    const insert = async (some: readonly OfSchool[]): Promise<void> => {
      try {
        await db.together(...some.map(([estab, its]) => insertSums(db, estab, its)));
      } catch (error) {
        // One that cannot be written, since its node is away say, keeps none of the others.
        if (some.length > 1 && !isOfAll(error)) for (const one of some) await insert([one]);
        else {
          failures.push(error);
          for (const sum of some.flatMap(([, its]) => its)) add(sum.estab, sum.rp, sum.collection, sum.requests, sum.records, sum.fields);
        }
      }
    };
    for (let at = 0; at < sent.length; at += schoolsAtOnce) await insert(sent.slice(at, at + schoolsAtOnce));
    if (failures.length > 0) throw failures[0];
  }

  function add(estab: string, rp: string, collection: string, requests: number, records: number, fields: Iterable<string>): void {
    const key = `${estab} ${rp} ${collection}`;
    const sum = sums.get(key) ?? { estab, rp, collection, requests: 0, records: 0, fields: new Set<string>(), last: undefined };
    sums.set(key, sum);
    sum.requests += requests;
    sum.records += records;
    // Mostly it is the same list again.
    if (fields !== sum.last) for (const field of fields) sum.fields.add(field);
    sum.last = fields;
  }

  /** One at a time, so that nothing is written twice. */
  const writeOnce = () => (writing ??= write().finally(() => (writing = undefined)));
  const timer = setInterval(() => void writeOnce().catch(() => {}), writeEveryMs).unref();

  return {
    note: ({ estab, rp, collection, records, fields }) => add(estab, rp, collection, 1, records, fields),
    write: writeOnce,
    async close() {
      clearInterval(timer);
      const rest = async () => {
        await writing?.catch(() => {});
        await writeOnce();
      };
      await Promise.race([rest().catch(() => {}), pause(writeEveryMs, undefined, { ref: false })]);
    },
  };
}

/** Whether none of them could be written, or all may have been. */
const isOfAll = (error: unknown) => error instanceof DatabaseUnavailable && error.why !== 'lost';

function insertSums(db: Db, estab: string, sums: readonly Sum[]) {
  const rows = sums.map(({ rp, collection, requests, records, fields }) => ({ rp, collection, requests, records, fields: [...fields] }));
  return db`
    insert into disclosure (estab, rp, day, collection, requests, records, fields)
    select ${estab}, given.rp, (now() at time zone e.time_zone)::date, given.collection, given.requests, given.records, given.fields
    from jsonb_to_recordset(${db.json(rows)}) as given (rp text, collection text, requests int, records bigint, fields text[])
      join establishment e on e.estab = ${estab}
    order by given.rp, given.collection
    on conflict (estab, rp, day, collection) do update
      set requests = disclosure.requests + excluded.requests, records = disclosure.records + excluded.records,
      fields = (select array_agg(distinct field order by field) from unnest(disclosure.fields || excluded.fields) as field)`;
}

export async function forgetDisclosures(db: Db, estab: string, days: number): Promise<void> {
  await deleteOfSchool(db, 'disclosure', estab, db`day < current_date - ${days}::int`);
}
