// In charge of which targets of calls need a person: those that are disabled, and those that have failed again and again.
import type { Db } from '../db/connect.ts';
import { findTargetId } from './target-id.ts';

/** id: as on the command line: of a registration its own, callback:<rp>, or one-off:<rp>:<origin>. */
export type TroubledTarget = {
  id: string;
  rp: string;
  application: string;
  estab: string | null;
  school: string | null;
  /** Without its path and query, which are the application's own business. */
  host: string | null;
  disabled: boolean;
  since: Date;
  why: string | null;
};

/**
 * Those that are disabled first. A target whose breaker has not opened yet is tried again in a moment, and needs nobody; one that an
 * operator has paused is known to them.
 */
export async function listTroubledTargets(db: Db, most: number): Promise<TroubledTarget[]> {
  const targets = db`(starts_with(l.key, 'webhook ') or starts_with(l.key, 'callback ') or starts_with(l.key, 'one-off '))`;
  const rows = await db<(Omit<TroubledTarget, 'id'> & { key: string })[]>`
    select l.key, p.rp, p.name as application, w.estab, e.name as school, l.host, l.disabled_at is not null as disabled,
      coalesce(l.disabled_at, l.failing_since) as since, l.disabled_why as why
    from (
      (select l.* from lane l where l.disabled_at is not null and l.paused_at is null and ${targets} order by l.disabled_at desc limit ${most})
      union all
      (select l.* from lane l where l.failing_since is not null and l.disabled_at is null and l.paused_at is null and l.openings > 0 and ${targets}
        order by l.failing_since limit ${most})) l
    left join webhook w on w.id = case when starts_with(l.key, 'webhook ') then substr(l.key, 9)::uuid end
    left join establishment e on e.estab = w.estab
    join application p on p.rp = coalesce(w.rp, split_part(l.key, ' ', 2))
    order by l.disabled_at is null, since limit ${most}`;
  return rows.map(({ key, ...row }) => ({ id: findTargetId(key)?.id ?? key, ...row }));
}
