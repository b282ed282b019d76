// In charge of the schema's version: applies migrations/NNNN_*.sql in order, forward only, each in its own
// transaction, under an advisory lock so that any number of processes may start at once.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Db } from './connect.ts';

const folder = join(import.meta.dirname, '../../migrations');
const advisoryLock = 5_219_001;
/** Half a megabyte. */
const fillers = 256;

type Migration = { version: number; name: string; text: string; checksum: string };

function readMigrations(): Migration[] {
  return readdirSync(folder)
    .filter((file) => /^\d{4}_.+\.sql$/.test(file))
    .toSorted()
    .map((file) => {
      const text = readFileSync(join(folder, file), 'utf8');
      return { version: Number(file.slice(0, 4)), name: file, text, checksum: createHash('sha256').update(text).digest('hex') };
    });
}

const newestMigration = readMigrations().at(-1)?.version;

export async function migrate(db: Db): Promise<number> {
  const connection = await db.reserve();
  try {
    await connection`select pg_advisory_lock(${advisoryLock})`;
    await connection`create table if not exists migration (
      version int primary key, name text not null, checksum text not null, applied_at timestamptz not null default now())`;
    const applied = new Map((await connection`select version, name, checksum from migration`).map((row) => [row.version as number, row]));
    const migrations = readMigrations();
    const newest = migrations.at(-1)?.version ?? 0;
    const ahead = [...applied.keys()].find((version) => version > newest);
    if (ahead !== undefined) throw new Error(`the database is at migration ${ahead}, newer than this version of Schoolbell (${newest}): install a newer one`);
    let count = 0;
    for (const { version, name, text, checksum } of migrations) {
      const before = applied.get(version);
      if (before && before.checksum !== checksum) throw new Error(`migration ${name} was changed after it was applied: add a new migration instead`);
      if (before) continue;
      await connection`begin`;
      try {
        await connection.unsafe(text);
        await connection`insert into migration (version, name, checksum) values (${version}, ${name}, ${checksum})`;
        await connection`commit`;
      } catch (error) {
        await connection`rollback`;
        throw error;
      }
      count += 1;
    }
    return count;
  } finally {
    await connection`select pg_advisory_unlock(${advisoryLock})`.catch(() => {});
    connection.release();
  }
}

/** Whether the database answers and stands at the newest migration this code knows. */
export async function isMigrated(db: Db): Promise<boolean> {
  const [row] = await db`select max(version) as version from migration`;
  return row?.version === newestMigration;
}

/** Writes, and takes it back: fails when the server only reads or has no room for what is written. */
export async function provesWritable(db: Db): Promise<void> {
  await db.begin(async (tx) => {
    // What does not fit in memory goes to disk, and leaves nothing behind.
    await tx`set local work_mem = '64kB'`;
    await tx`with filler as materialized (select repeat(md5(n::text), 64) as text from generate_series(1, ${fillers}) n) select max(length(text)) from filler`;
    await tx`update migration set applied_at = applied_at where version = ${newestMigration ?? 0}`;
  });
}
