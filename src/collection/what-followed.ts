// In charge of what came of an import that was held: which operator decided, as the trail has it, and the import that an approval made.
import type { Sql } from '../db/connect.ts';
import type { ImportRun } from './source-view.ts';

/** by: nobody where the school itself decided, or the trail is not kept any more. */
export type Followed = Readonly<{ by: string | undefined; next: { id: string; at: Date } | undefined }>;

const decisions: Readonly<Record<string, readonly string[]>> = {
  approved: ['approve held import', 'import approve'],
  discarded: ['discard held import', 'import discard'],
};

/** A command does not say which one it is about; but it was begun a moment before. */
export async function readFollowed(sql: Sql, estab: string, { id, decision, decidedAt }: ImportRun): Promise<Followed> {
  const actions = decisions[decision ?? ''];
  if (actions === undefined || decidedAt === null) return { by: undefined, next: undefined };
  const [decider] = await sql<{ actor: string }[]>`
    select actor from audit_event where estab = ${estab} and action = any(${[...actions]}::text[]) and coalesce(subject, ${id}) = ${id}
      and at between ${decidedAt}::timestamptz - interval '1 minute' and ${decidedAt}::timestamptz + interval '1 second'
      and outcome is distinct from 'refused'
    order by number desc limit 1`;
  const [next] = await sql<{ id: string; at: Date }[]>`
    select id, finished_at as at from import_run where estab = ${estab} and finished_at >= ${decidedAt} and report ->> 'approved' = ${id}
    order by finished_at limit 1`;
  return { by: decider?.actor, next };
}
