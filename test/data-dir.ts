// In charge of a DATA_DIR for tests that have no service: made for the file, and removed with it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

export function useDataDir(): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'schoolbell-data-'));
  after(() => rmSync(dataDir, { recursive: true, force: true }));
  return dataDir;
}
