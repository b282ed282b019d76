// In charge of the statements that do not keep schools apart yet, each with its reason and its file; the list shrinks. An
// entry is a hash of the whole statement, on one line and whatever the numbers of its parameters, and its beginning.
import { createHash } from 'node:crypto';

export type Offenders = readonly Readonly<{ reason: string; statements: Readonly<Record<string, readonly string[]>> }>[];

export function entryOf(statement: string): string {
  const unnumbered = statement.replaceAll(/\$\d+/g, '$n');
  return `${createHash('sha256').update(unnumbered).digest('hex').slice(0, 12)} ${unnumbered.slice(0, 100).trimEnd()}`;
}

export const offenders: Offenders = [
  {
    reason: 'What operators did is one trail over all schools, and they see all of them.',
    statements: {
      'src/access/audit-trail.ts': [
        '2f7fe1612f73 select number::float8 as number, at, actor, via, address as from, action, estab, rp, subject, detail',
        '42ae760ba037 select number::float8 as number, at, actor, via, address as from, action, estab, rp, subject, detail',
        'bdb5522a3953 select number::float8 as number, at, actor, via, address as from, action, estab, rp, subject, detail',
        '8de482bfb707 update audit_event set outcome = $n, message = $n, ended_at = clock_timestamp() where number = $n',
        'e4278ff7f445 select number::float8 as number, at, actor, via, address as from, action, estab, rp, subject, detail',
        'f956f372a8bf select number::float8 as number, at, actor, via, address as from, action, estab, rp, subject, detail',
        'aea17cdaff63 select from (select at, action from audit_event where actor = $n order by number desc limit $n) late',
        '0682e3cbeb01 delete from "audit_event" where ctid = any(array(select ctid from "audit_event" where at < now() - m',
      ],
      'src/access/trail.ts': [
        '37d0c9daec1e select at, to_char(at at time zone \'UTC\', \'YYYY-MM-DD"T"HH24:MI:SS.US"Z"\') as moment, number::text a',
        '9a32727f6a8b select at, to_char(at at time zone \'UTC\', \'YYYY-MM-DD"T"HH24:MI:SS.US"Z"\') as moment, number::text a',
        '9633a4659ab1 select at, to_char(at at time zone \'UTC\', \'YYYY-MM-DD"T"HH24:MI:SS.US"Z"\') as moment, number::text a',
      ],
    },
  },
  {
    reason: 'A backup is of every school, and so is what a restore does with their rosters, and with calls and mails that had not gone out.',
    statements: {
      'src/backup/write-backup.ts': ["c67c5e2f917b select (select count(*)::int from outbox where kind = 'call' and state in ('waiting', 'running')) as"],
      'src/backup/hold-deliveries.ts': [
        "a1e68ed0cd02 update outbox set lease_until = now() where state = 'running'",
        "ea78161c8526 with held as ( update outbox set state = 'failed', claim = null, lease_until = null, settled_at = no",
      ],
    },
  },
  {
    reason: 'The operator lists and counts all schools, each with how it stands; every other table is compared with the school of the row.',
    statements: {
      'src/onboarding/school-states.ts': [
        '3aafc6aa02b6 with e as materialized ( select e.*, left(lower(e.name), $n::int) collate "C" as sort from establish',
        '9081dd80cf5c with e as materialized ( select e.*, left(lower(e.name), $n::int) collate "C" as sort from establish',
        "7fdfbe1c6ba8 select case when e.confirmed_at is null then 'Proposed' when d.held then 'Held' when d.failing then",
      ],
    },
  },
  {
    reason: 'What an application asked for, at all of its schools, is shown to operators, who see all of them, and goes with its age or with the application.',
    statements: {
      'src/access/requests.ts': [
        '5144ea1bdcfa select l.number::text as number, l.at, l.rp, l.estab, l.method, l.path, l.status, l.ms, l.records, l',
        'b05307042993 select l.number::text as number, l.at, l.rp, l.estab, l.method, l.path, l.status, l.ms, l.records, l',
        '9238700c1f8e select l.number::text as number, l.at, l.rp, l.estab, l.method, l.path, l.status, l.ms, l.records, l',
        '294f9a356d3a select l.number::text as number, l.at, l.rp, l.estab, l.method, l.path, l.status, l.ms, l.records, l',
        'c483826766c3 delete from "request_line" where ctid = any(array(select ctid from "request_line" where at < now() -',
        "5cb88401e4ee select p.rp, l.number::text as last from (select rp from application union all select '') p cross jo",
        'da5b6fa2d633 delete from "request_line" where ctid = any(array(select ctid from "request_line" where rp = $n and',
        '7ab86668a66d delete from request_line where rp = $n',
      ],
    },
  },
  {
    reason: 'What needs a person, and how schools stand, is asked about all of them at once, for operators.',
    statements: {
      'src/collection/troubled-schools.ts': [
        '1a0c17252d22 select d.name as database, (count(*) filter (where d.updated_at is not null and d.expires_at > now()',
        'c325cd26bc77 select trouble, estab, name, database, since, message, uploads from ( select worst.*, row_number() o',
      ],
      'src/notifications/troubled-targets.ts': [
        '5844ebcf0f8b select l.key, p.rp, p.name as application, w.estab, e.name as school, l.host, l.disabled_at is not n',
      ],
      'src/onboarding/open-questions.ts': [
        'fcb4c01f1841 select i.estab, e.name as school, i.rp, p.name as application, i.expired, i.at from ( (select i.esta',
        '55e63412e05e select e.estab, e.name, e.email, coalesce(asked.since, e.created_at) as since, coalesce(asked.applic',
        '436e500c3db2 select i.estab, e.name as school, i.rp, p.name as application, i.created_at as since from invitation',
      ],
      'src/mail/failing-mails.ts': [
        "f70a468b82c4 select m.estab, m.id, m.payload ->> 'to' as to, m.payload ->> 'subject' as subject, m.given_up as \"g",
      ],
      'src/console/overview/overview.ts': [
        'c6533dc28a73 select exists (select from establishment) or exists (select from application) as begun',
      ],
    },
  },
  {
    reason: 'Which school somebody means is looked for among all of them, by its name.',
    statements: {
      'src/access/find-school.ts': [
        'a8b52b6099b1 select e.estab, 1 as rank from establishment e where e.estab = $n union all (select e.estab, 2 from',
      ],
    },
  },
  {
    reason: 'Those who look after the service see the work of all schools, by kind and state.',
    statements: {
      'src/outbox/list-work.ts': [
        "1c34ca474b65 with page as materialized ( select c.estab, c.id, c.created_at from ( select c.* from unnest($n::tex",
        "2e2a6507a3c9 select k.kind, s.state, (select count(*)::int from ( select from outbox o where o.kind <> 'call' and",
        "f2c374fe641f with page as materialized ( select c.estab, c.id, c.created_at from ( select c.* from unnest($n::tex",
        'd94fff528764 select o.estab, o.id, o.rp, o.kind, o.lane, o.state, o.payload, o.body is not null as "hasBody", o.a',
        "94f61a38376d with recursive found as ( (select kind from outbox where kind <> 'call' order by kind limit 1) union",
      ],
    },
  },
  {
    reason: 'Work is claimed and settled over all schools: the limits of lanes and hosts are shared, and the next turn of a lane is that of its rows.',
    statements: {
      'src/outbox/remove-work.ts': [
        '7113fd67b608 delete from lane where key = any($n) and paused_at is null and not exists (select from outbox o wher',
      ],
      'src/outbox/limit-waits.ts': [
        "bc2759436dcc select clock_timestamp() as at, exists ( select from outbox_attempt a join outbox o on o.estab = a.e",
        "59bef0ca06cb select o.lane as key from outbox o left join lateral (select a.at, a.next_at from outbox_attempt a w",
        "851a62ebecf2 with planned as materialized ( select o.estab, o.id, coalesce(last.next_at - last.at, make_interval(",
        "034faa755e0d update lane set next_at = greatest(open_until, (select min(o.due_at) from outbox o where o.lane = la",
      ],
      'src/outbox/sessions.ts': [
        "e27a48763889 select o.claim from outbox o where o.state = 'running' and ( o.session_server_started_at = pg_postma",
      ],
      'src/outbox/claim.ts': [
        "5f34c1b4d47a with due as materialized ( select key, host, width, open_until, epoch from lane where key = any((sel",
        "8aabd23ab528 select coalesce(array_agg(e.claim) filter (where (e.state = 'running' and (e.lease_until < now() or",
        "947f19196f74 update outbox set lease_until = now() + make_interval(secs => $n) where state = 'running' and lease_",
        "3502ba501dfb select key from lane where key in (select e.lane from outbox e where (e.state = 'running' and (e.lea",
        "9dfc937766e5 with freed as ( update outbox o set claim = null, lease_until = null, due_at = now(), attempts = att",
        'f89919c3e242 update lane l set next_at = now() where l.next_at is null and l.disabled_at is null and l.paused_at',
        '6da9195962ff with turn as materialized (select pg_try_advisory_xact_lock($n) as mine ), full_host as materialized',
      ],
      'src/outbox/settle.ts': [
        "06697774c065 update outbox set state = 'failed', settled_at = now() where lane = any($n) and state = 'waiting'",
        'c081148cbfe6 with given as ( select * from jsonb_to_recordset($n::jsonb) as given (lane text, estab text, id text',
      ],
    },
  },
  {
    reason: 'What is old or over goes, of all schools in one statement, where it does not lie with them.',
    statements: {
      'src/access/secrets.ts': [
        'a4416ca2658f delete from "school_secret" where valid_until < now() - make_interval(days => $n)',
      ],
      'src/identity/audit.ts': [
        'bb1425576a65 delete from "identity_audit" where ctid = any(array(select ctid from "identity_audit" where at < now',
      ],
      'src/collection/forget-reports.ts': [
        '03f8568674f9 delete from "import_end" where ctid = any(array(select ctid from "import_end" where finished_at < no',
      ],
      'src/onboarding/invitations.ts': [
        '1accb23d43a7 delete from "invitation" where ctid = any(array(select ctid from "invitation" where decided_at < now',
        "214961d9e500 update invitation set state = 'Expired', decided_at = now(), decided_by = 'service' where state = 'I",
      ],
      'src/outbox/lane-end.ts': [
        'cda09542a840 delete from lane l where l.next_at is null and l.disabled_at is null and l.paused_at is null and l.f',
        '5b703727021a delete from "outbox" where ctid = any(array(select ctid from "outbox" where settled_at < now() - mak',
      ],
      'src/schooldata/availability.ts': [
        '1610b6108dbd delete from "availability_wait" where ctid = any(array(select ctid from "availability_wait" where do',
      ],
    },
  },
  {
    reason: 'Looks for what is due in any school, and goes on with each by its establishment.',
    statements: {
      'src/collection/component-databases.ts': [
        "9cb4a8473771 select estab, name from component_database where refreshing_since is null and (refresh_at <= now() o",
      ],
      'src/collection/history.ts': [
        '5a9311d8cbb2 select estab from roster_standing where purged_at < now() - make_interval(hours => $n) order by esta',
      ],
      'src/roster/sweep-lists.ts': [
        '2a612d6a0c43 select roster_id as id, version, instant, kept_from as "keptFrom", purged_at is not null as purging',
      ],
      'src/visit-schools.ts': ['d8d35a36d728 select estab, swept_at < $n as late from roster_standing where swept_at <= $n order by swept_at desc'],
      'src/collection/watch-folders.ts': [
        "c29c29e59342 select s.estab, s.settings ->> 'folder' as folder, s.settings ->> 'fingerprint' as collected from co",
      ],
      'src/mail/failing-targets.ts': [
        '23ab392edbd3 select l.key, o.estab, o.id, o.rp, o.event, o.url, p.name, p.contact from lane l cross join lateral',
      ],
      'src/notifications/erase-secrets.ts': [
        '3a38e077e3b1 select s.estab, s.id from school_secret s where s.sealed is not null and exists (select from outbox',
      ],
      'src/onboarding/installation.ts': [
        '4450362d3bf7 select a.estab, a.rp, s.id as "secretId", s.sealed from authorisation a left join school_secret s on',
        'd76b265dfcb7 select a.estab, a.rp, s.id as "secretId", s.sealed from authorisation a left join school_secret s on',
      ],
      'src/onboarding/tell-troubles.ts': [
        "511cd858fc44 select estab from component_database where told is not null or status in ('Paused', 'Error', 'Timeou",
      ],
      'src/schooldata/availability.ts': [
        "532eef0203b4 select estab, id, rp, endpoint, databases, callback_url as \"callbackUrl\", deadline_at <= now() as ov",
        "ecfdb3f77c8c select estab, id, rp, endpoint, databases, callback_url as \"callbackUrl\", deadline_at <= $n::timesta",
      ],
    },
  },
  {
    reason: 'An application may read several schools: which, and how much it has open in all of them, is found by its name.',
    statements: {
      'src/access/shared-check.ts': [
        "ea42158ca784 select ask.place, now_at.digest, case when now_at.digest <> ask.known then (select coalesce(json_agg",
      ],
      'src/access/last-requests.ts': [
        '6d6bac382c9c select p.rp, l.at from unnest($n::text[]) as p (rp) cross join lateral (select at from request_line',
      ],
      'src/access/rostering-token.ts': [
        '1082cff9aae8 select a.rp, null as estab, s.id as "secretId", s.hash, g.scopes is not null as open, coalesce(g.sco',
      ],
      'src/collection/steer-demo.ts': [
        '6af8f59e9902 select a.estab from authorisation a join establishment e on e.estab = a.estab where a.rp = $n and a.',
      ],
      'src/onboarding/application-schools.ts': [
        'ba75d50e9eb0 select p.rp, coalesce(a.live, 0) as live, coalesce(a.waiting, 0) as waiting, coalesce(a.paused, 0) a',
        'bbb4db31720c with own as materialized ( select estab from authorisation where rp = $n and estab > $n union select',
        '1de0f528e804 with own as materialized ( select estab from authorisation where rp = $n and estab > $n union select',
      ],
      'src/onboarding/invitations.ts': [
        "74eae9fbb78f select count(*)::int as open from invitation where rp = $n and state = 'Proposed'",
      ],
      'src/onboarding/own-schools.ts': [
        '4f1e4b2967dc with own as materialized ( select estab from authorisation where rp = $n union select estab from inv',
      ],
      'src/onboarding/edit-application.ts': [
        'c2cc8bea35c8 select estab from authorisation where rp = $n union select estab from invitation where rp = $n order',
        "ec6417b2b17a select estab, scopes from authorisation where rp = $n and state in ('Approved', 'Paused') and not sc",
      ],
      'src/onboarding/remove-application.ts': [
        "f5daa1705cea select 'secrets' as words, count(*)::int as count from application_secret where rp = $n union all se",
        "a466a06c9971 select estab from authorisation where rp = $n and state <> 'Revoked' order by estab",
        '51119384cf44 delete from lane where (key = any($n) or starts_with(key, $n)) and not exists (select from outbox o',
        '837e40a0fca5 insert into past_decision (estab, rp, application, number, at, state, actor, scopes) select estab, r',
      ],
      'src/notifications/deliveries.ts': [
        "a6045b559f3a select o.estab, o.id, o.rp, o.lane, o.payload ->> 'event' as event, case when o.lane like 'webhook %",
        '94d2f44cf176 with page as materialized ( select c.estab, c.id, c.created from ( select c.* from unnest($n::text[]',
        '39d88aa0f1f6 select least(count(*), $n)::int as count from ( select c.* from unnest($n::text[]) as wanted (state)',
        '339f9ddd180a with page as materialized ( select c.estab, c.id, c.created from ( select c.* from unnest($n::text[]',
        'ef3e43a03cb4 select least(count(*), $n)::int as count from ( select c.* from unnest($n::text[]) as wanted (state)',
      ],
      'src/notifications/targets.ts': [
        'fc4f05cf087b select k.key, p.rp, p.name as application, w.estab, e.name as school, w.database_name as "databaseNa',
      ],
      'src/notifications/target-health.ts': [
        '76d037758e59 with ill as materialized ( select l.key, l.disabled_at is not null as disabled, case when starts_wit',
        '02fddf8d0b5a with page as materialized ( select w.estab, w.id, w.database_name from authorisation a join webhook',
        '75b79bed26a2 select c.settled_at as at from ( select o.lane, o.settled_at from outbox o where o.rp = $n and o.kin',
      ],
      'src/outbox/replay.ts': [
        "d9577582aa74 select o.estab, o.id, o.rp, o.lane, o.state, coalesce((o.payload ->> 'sealed')::boolean, false) and",
      ],
      'src/schooldata/availability.ts': [
        '4d1a0979e3c5 select count(*)::int as count from availability_wait where rp = $n and done_at is null',
      ],
    },
  },
  {
    reason: "An operator's command over all schools, or by an id that says which school it is of.",
    statements: {
      'src/access/authorisations.ts': [
        "88d106a00d3a select a.estab, a.rp, case when a.state <> 'Approved' then a.state when a.installed_at is not null t",
      ],
      'src/collection/connector-settings.ts': [
        "1c8dc421a95b select estab from establishment where connector = 'demo' order by estab",
      ],
      'src/needs/check-live.ts': [
        "d86166daac26 select count(*)::int as schools from establishment where connector = 'demo'",
      ],
      'src/commands/reseal.ts': [
        'a49a4bc03661 select estab from establishment order by estab',
        'e63a45f7e6f5 select "sealed" as sealed from "school_secret" where "sealed" is not null',
        '3885d3db7b03 select "sealed_credentials" as sealed from "connector_setting" where "sealed_credentials" is not nul',
        '578d32936b44 select "body" as sealed from "outbox" where payload ->> \'sealed\' = \'true\' and body is not null',
      ],
      'src/commands/status.ts': [
        '7ecff4ce3b21 select e.estab, e.name, r.version, r.instant as "lastChanged", i.outcome as "lastImport", i.finished',
        "36a441bf19ff select estab, name, case when refreshing_since is null then status when progress is null then 'Updat",
      ],
      'src/notifications/announce.ts': [
        `ab646cfdf660 select w.estab, w.id, w.rp, w.database_name as "databaseName", w.url, w.method , (a.state = 'Approve`,
      ],
      'src/notifications/browse-deliveries.ts': [
        `b118407b9787 select n.estab, n.id, to_char(n.created, 'YYYY-MM-DD"T"HH24:MI:SS.US') as created, n.wanted, n."goes`,
        `cd12e66a1cf5 select n.estab, n.id, to_char(n.created, 'YYYY-MM-DD"T"HH24:MI:SS.US') as created, n.wanted, n."goes`,
        '438c32763616 select from outbox o where o.lane = $n offset $n limit 1',
        "1af6e1fb4400 with recursive owner as ( (select o.rp from outbox o where o.kind = 'call' and o.rp is not null orde",
        '719fe9f563b2 with seen as materialized ( select o.*, row_number() over (partition by s.rp, s.state order by o.cre',
      ],
      'src/notifications/deliveries.ts': [
        "ea9b0fe61fae select o.estab, o.id, o.rp, o.lane, o.payload ->> 'event' as event, case when o.lane like 'webhook %",
      ],
      'src/notifications/targets.ts': [
        `8848fc718d32 select k.key from ( (select ('callback ' || p.rp) collate "C" as key from application p where ('call`,
        '2f6538af5e92 select k.key from ( select l.key from lane l where l.disabled_at is not null and l.key > $n and ((st',
        '6a21aab12ef7 select k.key from ( select l.key from lane l where l.failing_since is not null and l.disabled_at is',
        '0fc2437c534e select k.key from ( select l.key from lane l where l.paused_at is not null and l.key > $n and ((star',
        '1a4dff38fe11 select k.key, p.rp, p.name as application, w.estab, e.name as school, w.database_name as "databaseNa',
      ],
      'src/outbox/replay.ts': [
        "9636712e88ce select o.estab, o.id from outbox o where o.kind = $n and o.rp = any($n) and o.state = 'failed' and o",
        "c4c28e3690af select o.estab, o.id, o.rp, o.lane, o.state, coalesce((o.payload ->> 'sealed')::boolean, false) and",
        '56d655952dae select l.key, l.disabled_why as why, count(*)::int as failed from lane l join outbox o on o.lane = l',
      ],
    },
  },
  {
    reason: 'Figures of the service as a whole.',
    statements: {
      'src/collection/measure-schools.ts': [
        "e8c5db499fd9 select name as database, count(*)::int as schools, (count(*) filter (where (d.status = 'Paused' and",
        'f6225d44b0f1 select database, source, width_bucket(age, $n::float8[]) as place, count(*)::int as count, sum(age):',
        'eb30b18bcea8 select outcome, width_bucket(seconds, $n::float8[]) as place, count(*)::int as count, sum(seconds)::',
      ],
      'src/outbox/measure.ts': [
        '0a74adb17ef8 select coalesce(extract(epoch from now() - min(due_at)), 0)::float8 as value from outbox o where sta',
        "33c16aafc4d2 select coalesce(payload ->> 'event', kind) as kind, state, count(*)::float8 as value, extract(epoch",
      ],
      'src/outbox/delivery-hours.ts': [
        'df3facd56258 insert into delivery_hour (hour, rp, delivered, failed, tries, failed_tries) select hour, coalesce(r',
      ],
      'src/outbox/tally.ts': [
        "bb87a319cd89 insert into outbox_tally (since, settled, attempts) select since, (select coalesce(jsonb_agg(c), '[]",
        '46615a9dafc0 select kind, state, sum(value)::float8 as value from ( select c.kind, c.state, c.value from outbox_t',
        '0f4778d3e7bc select kind, class, sum(value)::float8 as value from ( select c.kind, c.class, c.value from outbox_t',
      ],
    },
  },
];

/** What only a database on several nodes is asked. */
export const offendersOfSpread: Offenders = [
  {
    reason: 'How many schools lie on each node is told of all of them.',
    statements: {
      'src/db/node-load.ts': ["b8f0643fbebb select p.groupid as group, count(*)::int as schools from establishment e join pg_dist_placement p on"],
    },
  },
];
