// In charge of what the console is measured with: 1,000 schools, a hundred applications and 1,000,000 deliveries, made by
// the database itself; a few of everything are in trouble.
import { emptyReport } from '../src/collection/import-report.ts';
import type { Db, Sql } from '../src/db/connect.ts';
import { countDeliveryHours } from '../src/outbox/delivery-hours.ts';
import { dropIndexes } from './indexes.ts';

export const sizes = { schools: 1_000, applications: 100, deliveries: 1_000_000, requests: 200_000, mails: 10_000 } as const;

/** The application and school that most belongs to. */
export const busy = { rp: 'console-1', estab: 'console-1' } as const;

export async function fillConsole(db: Db): Promise<void> {
  await addSchools(db);
  await addApplications(db);
  await db.begin(addDeliveries);
  await addOthers(db);
  for (const table of ['establishment', 'component_database', 'authorisation', 'invitation', 'webhook', 'lane', 'outbox', 'outbox_attempt', 'request_line',
    'request_hour', 'import_run', 'audit_event']) await db`vacuum analyze ${db(table)}`;
  await countDeliveryHours(db);
  // What was filled in is written to the disk now, not beside the pages.
  await db`checkpoint`;
}

async function addSchools(db: Db): Promise<void> {
  await db`
    insert into establishment (estab, name, email, connector, confirmed_at)
    select 'console-' || n, 'School ' || n || case n % 3 when 0 then ' Primary' else ' Academy' end, 'office@' || n || '.example',
      case n % 3 when 0 then 'csv' when 1 then 'oneroster' end, case when n % 200 = 0 then null else now() end
    from generate_series(1, ${sizes.schools}) n`;
  await db`insert into roster (estab) select estab from establishment where starts_with(estab, 'console-')`;
  await db`
    insert into component_database (estab, name, status, message, row_count, updated_at, expires_at, failing_since)
    select 'console-' || n, name, case when n % 50 = 0 then 'Error' when n % 70 = 0 then 'Paused' else 'OK' end, case when n % 50 = 0 then 'HTTP 401' end, 1000,
      now() - make_interval(hours => n % 48), now() + make_interval(hours => 24 - n % 30), case when n % 50 = 0 then now() - make_interval(hours => n % 90) end
    from generate_series(1, ${sizes.schools}) n, unnest(array['SchoolData', 'Attendance']) name where n % 10 <> 0 or n % 50 = 0`;
  await db`
    insert into import_run (estab, started_at, finished_at, outcome, version, kind, report)
    select 'console-' || 1 + n % ${sizes.schools}, now() - make_interval(mins => n), now() - make_interval(mins => n), 'done', 1, 'upload',
      ${db.json(emptyReport(''))}
    from generate_series(1, 20000) n`;
}

async function addApplications(db: Db): Promise<void> {
  await db`
    insert into application (rp, name, callback_url, required_scopes, optional_scopes, client_id)
    select 'console-' || n, 'Application ' || n, 'https://app' || n || '.example/callback', '{School,Student}', '{Staff}', 'client-' || n
    from generate_series(1, ${sizes.applications}) n`;
  await db`
    insert into authorisation (estab, rp, scopes, state)
    select 'console-' || s, 'console-' || a, '{School,Student}', case when s % 9 = 0 then 'Paused' else 'Approved' end
    from generate_series(1, ${sizes.schools}) s, generate_series(1, ${sizes.applications}) a where a = 1 or (s + a) % 20 = 0`;
  await db`
    insert into webhook (estab, rp, database_name, url, method)
    select estab, rp, 'SchoolData', 'https://' || rp || '.example/hook', 'POST' from authorisation where starts_with(estab, 'console-')`;
  await db`
    insert into lane (key, host, width, lasting, failures, failing_since, openings, disabled_at, disabled_why)
    select 'webhook ' || id, rp || '.example', 4, true, 0, case when n % 100 = 0 then now() - make_interval(mins => n) end, (n % 100 = 0)::int,
      case when n % 400 = 0 then now() end, case when n % 400 = 0 then 'five days of nothing but failures' end
    from (select id, rp, (row_number() over (order by estab, rp))::int as n from webhook) w`;
  await db`
    insert into invitation (estab, rp, state, required_scopes, optional_scopes, school_name, contact_email, invited_by, invited_at, expires_at, decided_at)
    select 'console-' || s, 'console-' || a, state, '{School}', '{}', 'School', 'a@b.example', 'application', now(), now() + make_interval(days => s % 30),
      case when state in ('Expired', 'Declined') then now() - make_interval(days => s % 300) end
    from generate_series(1, ${sizes.schools}) s, generate_series(1, 20) a,
      lateral (select case when s % 200 = 0 then 'Proposed' when (s + a) % 3 = 0 then 'Invited' when (s + a) % 3 = 1 then 'Expired'
        else 'Declined' end as state) x`;
}

/** Over a month, nine of ten to the busy application; one of a hundred was given up. What they refer to is not looked up a million times. */
async function addDeliveries(db: Sql): Promise<void> {
  await db`set local session_replication_role = 'replica'`;
  // Those of other figures would be indexed once more.
  await db`truncate outbox, outbox_attempt`;
  const indexes = [...(await dropIndexes(db, 'outbox')), ...(await dropIndexes(db, 'outbox_attempt'))];
  await db`
    insert into outbox (estab, id, rp, kind, lane, payload, body, state, attempts, due_at, created_at, settled_at)
    select w.estab, 'console_' || n, w.rp, 'call', 'webhook ' || w.id, jsonb_build_object('event', 'database', 'method', 'POST', 'url', w.url,
      'contentType', 'application/json'), '{"Estab":"1","DatabaseName":"SchoolData"}', case when n % 100 = 0 then 'failed' else 'done' end, 1, at, at, at
    from (select n, now() - make_interval(secs => n * 2.592) as at, 'console-' || case when n % 10 = 0 then 1 + n / 10 % ${sizes.applications} else 1 end as rp
      from generate_series(1, ${sizes.deliveries}) n) d
    join (select rp, count(*) as places from webhook group by rp) of using (rp)
    join (select *, row_number() over (partition by rp order by estab) as place from webhook) w on w.rp = d.rp and w.place = 1 + d.n % of.places`;
  await db`
    insert into outbox_attempt (estab, id, number, at, success, error_class, detail)
    select estab, id, 1, settled_at, state = 'done', case when state = 'failed' then 'http' end, '{"status":200,"ms":12}' from outbox
    where starts_with(id, 'console_')`;
  await db`set local maintenance_work_mem = '512MB'`;
  for (const index of indexes) await db.unsafe(index);
}

async function addOthers(db: Db): Promise<void> {
  await db`insert into lane (key, width, lasting) values ('mail', 4, false) on conflict do nothing`;
  await db`
    insert into outbox (estab, id, rp, kind, lane, payload, state, attempts, due_at, created_at, settled_at)
    select 'console-' || 1 + n % ${sizes.schools}, 'console_mail_' || n, 'console-1', 'mail', 'mail',
      jsonb_build_object('to', 'office@school.example', 'subject', 'An application asks'), case when n % 500 = 0 then 'failed' else 'done' end, 1,
      now(), now() - make_interval(mins => n), now() - make_interval(mins => n)
    from generate_series(1, ${sizes.mails}) n`;
  await db`
    insert into request_line (at, rp, estab, method, path, status, ms, records, request_id)
    select now() - make_interval(secs => (${sizes.requests} - n) * 3), 'console-' || case when n % 10 = 0 then 1 + n / 10 % ${sizes.applications} else 1 end,
      'console-' || 1 + n % ${sizes.schools}, 'GET', '/ims/oneroster/v1p1/users', case when n % 50 = 0 then 404 else 200 end, 12, 100, 'console-' || n
    from generate_series(1, ${sizes.requests}) n`;
  await db`
    insert into request_hour select date_trunc('hour', now(), 'UTC') - make_interval(hours => h), 'console-' || a, 1000, 10, 1, 100000, 12000
    from generate_series(0, 24 * 60) h, generate_series(1, ${sizes.applications}) a`;
  await db`
    insert into request_hour select hour, '*', sum(requests), sum(refused), sum(failed), sum(records), sum(ms) from request_hour
    where starts_with(rp, 'console-') group by 1
    on conflict (hour, rp) do update set requests = request_hour.requests + excluded.requests`;
  await db`
    insert into audit_event (at, actor, via, action, estab, outcome) select now() - make_interval(mins => n), 'admin', 'console', 'look at a record',
      'console-' || 1 + n % ${sizes.schools}, 'done' from generate_series(1, 100000) n`;
}
