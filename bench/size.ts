// In charge of what a record takes: in the database, in the file of its list and on the way, and in what is written for its import.
import { estab, type Bench } from './bench.ts';

const mostTries = 10;
const tables = { enrollments: 'roster_enrollment', users: 'roster_user' } as const;

export async function benchSize(bench: Bench): Promise<void> {
  for (const [collection, table] of Object.entries(tables)) {
    const [row] = await bench.db<{ rows: number; heap: number; indexes: number }[]>`
      select count(*)::int as rows, pg_table_size(${table})::float8 as heap, pg_indexes_size(${table})::float8 as indexes
      from ${bench.db(table)} where estab = ${estab}`;
    const { rows = 1, heap = 0, indexes = 0 } = row ?? {};
    const each = (bytes: number) => String(Math.round(bytes / rows));
    const path = `/ims/oneroster/v1p1/${collection}`;
    const [plain, packed] = [await lengthOf(bench, path, 'identity'), await lengthOf(bench, path, 'gzip')];
    bench.add(`${collection}: bytes of the database for one`, `${each(heap + indexes)} (rows ${each(heap)}, indexes ${each(indexes)})`);
    bench.add(`${collection}: bytes of the list for one, as in its file`, `${each(plain)}, gzip ${each(packed)}`);
  }
}

/** As it is sent. A list that is sent for the first time does not say how long it is; then it has its file. */
async function lengthOf({ url, token }: Bench, path: string, encoding: string): Promise<number> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const response = await fetch(url + path, { headers: { authorization: `Bearer ${token}`, 'accept-encoding': encoding } });
    await response.arrayBuffer();
    const stated = response.headers.get('content-length');
    if (stated !== null) return Number(stated);
  }
  throw new Error(`${path} is not sent out of a file`);
}

/** What the server has written so far for whoever follows or restores it. */
export async function findWritten({ db }: Bench): Promise<number> {
  const [row] = await db<{ bytes: number }[]>`select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as bytes`;
  return row?.bytes ?? 0;
}
