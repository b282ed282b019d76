// In charge of noting what a record loses by the change of another one: after the merge nothing else would say so, and
// readers of deltas would miss it.
import type { Fragment, Tx } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import type { Resource } from '../roster/resource.ts';
import { changes, type Changes } from './compare-stage.ts';
import { staged } from './stage.ts';

/** To be called before the changed rows are written. */
export async function noteTouches(tx: Tx, all: Changes, resource: Resource, version: number): Promise<void> {
  const { reading } = all;
  const { estab } = reading;
  for (const { touched, when } of touchesOf(tx, estab, resource)) {
    await tx`
      insert into roster_touch (estab, what, sourced_id, version)
      select distinct t.estab, touched.what, touched.id, ${version}::int
      from ${tx(resource.table)} t join ${staged(tx, resource, reading)} s on s.sourced_id = t.sourced_id
        cross join lateral (${touched}) as touched (what, id)
      where t.estab = ${estab} and ${changes(tx, all, resource, tx`t.sourced_id`, 'changed', 'marked')}
        and ${changes(tx, all, resource, tx`s.sourced_id`, 'changed', 'marked')} and ${when}
      on conflict (estab, what, sourced_id) do update set version = excluded.version`;
  }
}

/** t is the row as it was, s as it will be. */
function touchesOf(tx: Tx, estab: string, resource: Resource): { touched: Fragment; when: Fragment }[] {
  switch (resource) {
    case collections.enrollments:
      return [{ touched: tx`values ('classes', t.class_id), ('users', t.user_id)`, when: tx`(t.class_id <> s.class_id or t.user_id <> s.user_id)` }];
    case collections.classes:
      return [
        {
          touched: tx`select 'users', e.user_id from roster_enrollment e where e.estab = ${estab} and e.class_id = t.sourced_id`,
          when: tx`t.class_type <> s.class_type`,
        },
      ];
    case collections.users:
      return [
        { touched: tx`select 'users', unnest(t.agent_ids)`, when: tx`t.agent_ids is distinct from s.agent_ids` },
        { touched: tx`values ('left ' || t.kind, t.sourced_id)`, when: tx`t.kind <> s.kind` },
      ];
    default:
      return [];
  }
}
