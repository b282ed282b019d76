// In charge of folders that schools' systems write into: when one has changed, and has stopped changing, its school is
// collected. A package that is half copied has another fingerprint a moment later.
import type { Db } from '../db/connect.ts';
import { installDatabases, requestCollection } from './component-databases.ts';
import { fingerprintFolder } from './connectors/csv/fingerprint.ts';

/** To be called again and again; remembers what it saw the last time. */
export function createFolderWatch(db: Db): () => Promise<void> {
  const seen = new Map<string, string>();
  return async () => {
    const schools = await db<{ estab: string; folder: string; collected: string | null }[]>`
      select s.estab, s.settings ->> 'folder' as folder, s.settings ->> 'fingerprint' as collected from connector_setting s join establishment e using (estab)
        where e.connector = 'csv' and s.settings ? 'folder'`;
    for (const { estab, folder, collected } of schools) {
      const now = await fingerprintFolder(folder);
      if (now === undefined) continue;
      const settled = seen.get(estab) === now;
      seen.set(estab, now);
      if (settled && now !== collected) await collect(db, estab, now);
    }
  };
}

async function collect(db: Db, estab: string, fingerprint: string): Promise<void> {
  await db.begin(async (tx) => {
    // What is being read may be what was there before; looked at again when that has ended.
    const [busy] = await tx`select from component_database where estab = ${estab} and refreshing_since is not null limit 1`;
    if (busy) return;
    await tx`update connector_setting set settings = settings || ${tx.json({ fingerprint })} where estab = ${estab}`;
    await installDatabases(tx, estab, ['SchoolData']);
    const installed = await tx<
      { name: 'SchoolData' | 'Attendance' }[]
    >`select name from component_database where estab = ${estab} order by name for update`;
    for (const { name } of installed.toReversed()) await requestCollection(tx, estab, name, { full: true });
  });
}
