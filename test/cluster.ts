// In charge of the PostgreSQL that tests run on: one real cluster, kept in the temporary folder between runs, without
// the syncs that make it crash-safe.
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbedded, type EmbeddedDatabase } from '../src/db/embedded.ts';
import type { DatabaseRole } from '../src/db/embedded-roles.ts';

/** Addresses of a database of the cluster, as each of its roles. Tests change what they like as the superuser. */
export type RoleUrls = Readonly<Record<DatabaseRole, string>>;

export async function openTestCluster(): Promise<EmbeddedDatabase & { url: string; urlsOf(database: string): RoleUrls }> {
  const checkout = createHash('sha256').update(join(import.meta.dirname, '..')).digest('hex').slice(0, 8);
  const folder = join(tmpdir(), `schoolbell-tests-${checkout}`);
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o711);
  const embedded = await openEmbedded(folder, { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '600' });
  const urlAs = (role: DatabaseRole, database: string) => (embedded.whereAs(role)()[0] ?? '').replace(/\/[^/]*$/, `/${database}`);
  const urlsOf = (database: string): RoleUrls => ({
    superuser: urlAs('superuser', database),
    owner: urlAs('owner', database),
    serving: urlAs('serving', database),
  });
  return { ...embedded, url: urlsOf('postgres').superuser, urlsOf };
}
