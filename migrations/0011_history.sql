-- Imports in two phases: readings are numbered when they start, and what was read is staged in ordinary tables, keyed by
-- the school and the reading, for as long as the transaction that merges it.
create table reading (
  estab text collate "C" primary key references establishment (estab) on delete cascade,
  started int not null default 0,
  -- The newest that was merged, of each database; older ones come too late.
  roster_merged int not null default 0,
  marks_merged int not null default 0
);

alter table import_run add column reading int, add column provider text;
-- The import that made the version; a purge makes one too.
alter table roster_version add column import uuid;

create unlogged table stage_org (like roster_org);
alter table stage_org drop column head, drop column version, drop column child_ids;
alter table stage_org add column reading int not null, add column line int not null, add column place int;
create unlogged table stage_academic_session (like roster_academic_session);
alter table stage_academic_session drop column head, drop column version, drop column child_ids;
alter table stage_academic_session add column reading int not null, add column line int not null, add column place int;
create unlogged table stage_course (like roster_course);
alter table stage_course drop column head, drop column version;
alter table stage_course add column reading int not null, add column line int not null, add column place int;
create unlogged table stage_class (like roster_class);
alter table stage_class drop column head, drop column version;
alter table stage_class add column reading int not null, add column line int not null, add column place int;
create unlogged table stage_user (like roster_user);
alter table stage_user drop column head, drop column version;
alter table stage_user add column reading int not null, add column line int not null, add column place int;
create unlogged table stage_enrollment (like roster_enrollment);
alter table stage_enrollment drop column head, drop column version;
alter table stage_enrollment add column reading int not null, add column line int not null, add column place int;
create unlogged table stage_demographics (like roster_demographics);
alter table stage_demographics drop column head, drop column version;
alter table stage_demographics add column reading int not null, add column line int not null, add column place int;

create unlogged table stage_rejected (
  estab text collate "C" not null,
  reading int not null,
  collection text not null,
  line int not null,
  sourced_id text collate "C"
);

-- What the merge will do, found by one comparison of what is staged with what is there.
create unlogged table stage_change (
  estab text collate "C" not null,
  reading int not null,
  collection text not null,
  sourced_id text collate "C" not null,
  what text not null
);

create unlogged table stage_mark (
  estab text collate "C" not null,
  reading int not null,
  line int not null,
  student_id text collate "C" not null,
  date date not null,
  session text not null,
  mark text,
  minutes_late int,
  notes text
);

-- Statistics would be of readings that have gone. Whoever stages is taken for the only one, and rows for as many as fit.
do $$
declare
  name text;
  own record;
begin
  foreach name in array array['stage_org', 'stage_academic_session', 'stage_course', 'stage_class', 'stage_user', 'stage_enrollment', 'stage_demographics', 'stage_rejected', 'stage_change', 'stage_mark'] loop
    execute format('create index %I on %I (estab, reading)', name || '_reading', name);
    execute format('alter table %I alter column estab set (n_distinct = 1), alter column reading set (n_distinct = 1)', name);
    execute format('alter table %I set (autovacuum_analyze_threshold = 2000000000, autovacuum_vacuum_scale_factor = 0, '
      || 'autovacuum_vacuum_threshold = 5000)', name);
  end loop;
  foreach name in array array['stage_org', 'stage_academic_session', 'stage_course', 'stage_class', 'stage_user', 'stage_enrollment', 'stage_demographics'] loop
    -- The roster's own columns are held to its rules when they are merged.
    for own in select attname from pg_attribute where attrelid = name::regclass and attnum > 0 and attnotnull and not attisdropped
      and attname not in ('estab', 'reading', 'line', 'sourced_id', 'status', 'record', 'late')
    loop
      execute format('alter table %I alter column %I drop not null', name, own.attname);
    end loop;
    execute format('alter table %I alter column sourced_id set (n_distinct = -1)', name);
    execute format('insert into %I (estab, reading, line, sourced_id, status, record, late) values (%L, 0, 0, %L, %L, %L, %L)', name, '', '', '', '', '');
    execute format('analyze %I', name);
    execute format('truncate %I', name);
  end loop;
end $$;

-- History: what a merge replaces, with the version that replaced it. A state holds from its own version until that one.
-- place: the line of the file, or the page of the provider, that the state came from.
alter table roster_org add column place int;
alter table roster_academic_session add column place int;
alter table roster_course add column place int;
alter table roster_class add column place int;
alter table roster_user add column place int;
alter table roster_enrollment add column place int;
alter table roster_demographics add column place int;

create table roster_org_history (like roster_org, until_version int not null, purged_at timestamptz);
alter table roster_org_history drop column head;
alter table roster_org_history add primary key (estab, sourced_id, version);
create index roster_org_history_until on roster_org_history (estab, until_version);

create table roster_academic_session_history (like roster_academic_session, until_version int not null, purged_at timestamptz);
alter table roster_academic_session_history drop column head;
alter table roster_academic_session_history add primary key (estab, sourced_id, version);
create index roster_academic_session_history_until on roster_academic_session_history (estab, until_version);

create table roster_course_history (like roster_course, until_version int not null, purged_at timestamptz);
alter table roster_course_history drop column head;
alter table roster_course_history add primary key (estab, sourced_id, version);
create index roster_course_history_until on roster_course_history (estab, until_version);

create table roster_class_history (like roster_class, until_version int not null, purged_at timestamptz);
alter table roster_class_history drop column head;
alter table roster_class_history add primary key (estab, sourced_id, version);
create index roster_class_history_until on roster_class_history (estab, until_version);

create table roster_user_history (like roster_user, until_version int not null, purged_at timestamptz);
alter table roster_user_history drop column head;
alter table roster_user_history add primary key (estab, sourced_id, version);
create index roster_user_history_until on roster_user_history (estab, until_version);

create table roster_enrollment_history (like roster_enrollment, until_version int not null, purged_at timestamptz);
alter table roster_enrollment_history drop column head;
alter table roster_enrollment_history add primary key (estab, sourced_id, version);
create index roster_enrollment_history_until on roster_enrollment_history (estab, until_version);

create table roster_demographics_history (like roster_demographics, until_version int not null, purged_at timestamptz);
alter table roster_demographics_history drop column head;
alter table roster_demographics_history add primary key (estab, sourced_id, version);
create index roster_demographics_history_until on roster_demographics_history (estab, until_version);

-- Which versions can be read: from kept_from on. A version that a merge made without keeping what it replaced begins anew.
alter table roster add column history_from int not null default 0, add column history_to int not null default 0;
-- Since when there is history of records that were purged.
alter table roster add column purged_at timestamptz;
alter table roster add column kept_from int generated always as (case when history_to = version then history_from else version end) stored;

-- What X-Roster-Version names for several schools at once.
create table roster_version_set (
  name text collate "C" primary key,
  versions jsonb not null,
  noted_at timestamptz not null default now()
);
create index roster_version_set_noted on roster_version_set (noted_at);
