// In charge of which PostgreSQL this is, and how far its schema has come.
import type { Db } from './connect.ts';

export type ServerFacts = Readonly<{ postgres: string; migrations: number; newest: number; name: string; appliedAt: Date | null }>;

export async function readServerFacts(db: Db): Promise<ServerFacts> {
  const [row] = await db<ServerFacts[]>`
    select current_setting('server_version') as postgres, (select count(*)::int from migration) as migrations, newest.version as newest, newest.name,
      newest.applied_at as "appliedAt"
    from migration newest order by newest.version desc limit 1`;
  return row ?? { postgres: '', migrations: 0, newest: 0, name: '', appliedAt: null };
}
