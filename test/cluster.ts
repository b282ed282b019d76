// In charge of the PostgreSQL that tests run on: one real cluster, kept in the temporary folder between runs, without
// the syncs that make it crash-safe.
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbedded, type EmbeddedDatabase } from '../src/db/embedded.ts';

export async function openTestCluster(): Promise<EmbeddedDatabase & { url: string }> {
  const checkout = createHash('sha256').update(join(import.meta.dirname, '..')).digest('hex').slice(0, 8);
  const folder = join(tmpdir(), `schoolbell-test-${checkout}`);
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o711);
  const embedded = await openEmbedded(folder, { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '600' });
  return { ...embedded, url: embedded.where()[0] ?? '' };
}
