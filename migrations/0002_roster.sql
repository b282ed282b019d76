-- The roster of each establishment: one table per collection, every key beginning with the establishment.
--
-- head, record, late: the JSON of the record in three parts, made once when it is merged, so that a read only joins
--   them. head has the first fields; between two bytes 0x02 it names the version whose instant is dateLastModified.
--   record has the fields from the source; the byte 0x01 stands for the address of the API, which depends on the
--   variant that is asked. late has the references that follow (children, agents); apart, because children are
--   derived and agents may have to be left out.
-- kind:   what a caller's scopes and the sub-type routes select by. For enrollments and demographics it is the
--   kind of the person.
-- version: the merge that last changed the row. Its instant is in roster_version, written last before the commit,
--   so that dateLastModified never precedes what a reader of deltas could already see.

-- Text is compared by code point of the lower-cased value. PostgreSQL 18 brings full Unicode case mapping of its own.
do $$
begin
  if current_setting('server_version_num')::int >= 180000 then
    create collation roster_fold (provider = builtin, locale = 'PG_UNICODE_FAST');
  else
    create collation roster_fold (provider = icu, locale = 'und');
  end if;
end
$$;

-- Percent-encoding as in the hrefs of records, for filters that compare them.
create function roster_encode(id text) returns text language sql immutable strict parallel safe as $$
  select string_agg(case when c ~ '[A-Za-z0-9_.!~*''()-]' then c else regexp_replace(upper(encode(convert_to(c, 'UTF8'), 'hex')), '(..)', '%\1', 'g') end, '' order by n)
  from regexp_split_to_table(id, '') with ordinality as split (c, n)
$$;

create function roster_head(estab text, sourced_id text, status text, version int) returns text language sql immutable strict parallel safe as $$
  select '{"sourcedId":"' || replace(replace(sourced_id, '\', '\\'), '"', '\"') || '","status":"' || status || '","dateLastModified":"' || chr(2) || estab || ' ' || version || chr(2) || '"'
$$;

create table roster (
  estab text collate "C" primary key references establishment on delete cascade,
  -- A school that was removed and added again starts from version 0 with another id.
  id uuid not null default gen_random_uuid(),
  version int not null default 0
);

create table roster_version (
  estab text collate "C" not null references roster on delete cascade,
  version int not null,
  instant timestamptz not null,
  stamp text not null,
  primary key (estab, version)
);

-- How many records of each kind and status a collection has at the current version.
create table roster_total (
  estab text collate "C" not null references roster on delete cascade,
  collection text not null,
  kind text not null,
  status text not null,
  count int not null,
  primary key (estab, collection, kind, status)
);

-- Every thousandth key of a collection, with how many records of each kind and status precede it ({"kind status": n}).
create table roster_mark (
  estab text collate "C" not null references roster on delete cascade,
  collection text not null,
  sourced_id text collate "C" not null,
  preceding jsonb not null,
  primary key (estab, collection, sourced_id)
);

-- No foreign keys here: a check per row would cost more than the whole merge, which verifies every reference in sets.

create table roster_org (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text not null,
  status text not null,
  version int not null,
  name text collate "C" not null,
  type text collate "C" not null,
  identifier text collate "C",
  parent_id text collate "C",
  child_ids text[] collate "C",
  metadata jsonb,
  head text not null generated always as (roster_head(estab, sourced_id, status, version)) stored,
  record text not null,
  late text not null default '',
  primary key (estab, sourced_id)
);
create index roster_org_version on roster_org (estab, version);
create index roster_org_parent on roster_org (estab, parent_id);

create table roster_academic_session (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text not null,
  status text not null,
  version int not null,
  title text collate "C" not null,
  start_date date not null,
  end_date date not null,
  type text collate "C" not null,
  parent_id text collate "C",
  child_ids text[] collate "C",
  school_year text collate "C" not null,
  metadata jsonb,
  head text not null generated always as (roster_head(estab, sourced_id, status, version)) stored,
  record text not null,
  late text not null default '',
  primary key (estab, sourced_id)
);
create index roster_academic_session_version on roster_academic_session (estab, version);
create index roster_academic_session_parent on roster_academic_session (estab, parent_id);

create table roster_course (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text not null,
  status text not null,
  version int not null,
  title text collate "C" not null,
  school_year_id text collate "C",
  course_code text collate "C",
  grades text[] collate "C",
  org_id text collate "C" not null,
  subjects text[] collate "C",
  subject_codes text[] collate "C",
  metadata jsonb,
  head text not null generated always as (roster_head(estab, sourced_id, status, version)) stored,
  record text not null,
  late text not null default '',
  primary key (estab, sourced_id)
);
create index roster_course_version on roster_course (estab, version);

create table roster_class (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text not null,
  status text not null,
  version int not null,
  title text collate "C" not null,
  grades text[] collate "C",
  course_id text collate "C" not null,
  class_code text collate "C",
  class_type text collate "C" not null,
  location text collate "C",
  school_id text collate "C" not null,
  term_ids text[] collate "C" not null,
  subjects text[] collate "C",
  subject_codes text[] collate "C",
  periods text[] collate "C",
  metadata jsonb,
  head text not null generated always as (roster_head(estab, sourced_id, status, version)) stored,
  record text not null,
  late text not null default '',
  primary key (estab, sourced_id)
);
create index roster_class_version on roster_class (estab, version);
create index roster_class_course on roster_class (estab, course_id);
create index roster_class_school on roster_class (estab, school_id);

create table roster_user (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text not null,
  status text not null,
  version int not null,
  enabled_user boolean not null,
  org_ids text[] collate "C" not null,
  role text collate "C" not null,
  username text collate "C" not null,
  user_id_types text[] collate "C",
  user_id_identifiers text[] collate "C",
  given_name text collate "C" not null,
  family_name text collate "C" not null,
  middle_name text collate "C",
  identifier text collate "C",
  email text collate "C",
  sms text collate "C",
  phone text collate "C",
  agent_ids text[] collate "C",
  grades text[] collate "C",
  metadata jsonb,
  head text not null generated always as (roster_head(estab, sourced_id, status, version)) stored,
  record text not null,
  late text not null default '',
  primary key (estab, sourced_id)
);
create index roster_user_version on roster_user (estab, version);

create table roster_enrollment (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text not null,
  status text not null,
  version int not null,
  class_id text collate "C" not null,
  school_id text collate "C" not null,
  user_id text collate "C" not null,
  role text collate "C" not null,
  "primary" boolean,
  begin_date date,
  end_date date,
  metadata jsonb,
  head text not null generated always as (roster_head(estab, sourced_id, status, version)) stored,
  record text not null,
  late text not null default '',
  primary key (estab, sourced_id)
);
create index roster_enrollment_version on roster_enrollment (estab, version);
create index roster_enrollment_class on roster_enrollment (estab, class_id);
create index roster_enrollment_user on roster_enrollment (estab, user_id);

create table roster_demographics (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text not null,
  status text not null,
  version int not null,
  birth_date date,
  sex text collate "C",
  american_indian_or_alaska_native boolean,
  asian boolean,
  black_or_african_american boolean,
  native_hawaiian_or_other_pacific_islander boolean,
  white boolean,
  demographic_race_two_or_more_races boolean,
  hispanic_or_latino_ethnicity boolean,
  country_of_birth_code text collate "C",
  state_of_birth_abbreviation text collate "C",
  city_of_birth text collate "C",
  public_school_residence_status text collate "C",
  metadata jsonb,
  head text not null generated always as (roster_head(estab, sourced_id, status, version)) stored,
  record text not null,
  late text not null default '',
  primary key (estab, sourced_id)
);
create index roster_demographics_version on roster_demographics (estab, version);

-- What each import did, for the operator and the school.
create table import_run (
  estab text collate "C" not null references establishment on delete cascade,
  id uuid not null default gen_random_uuid(),
  started_at timestamptz not null,
  finished_at timestamptz not null default clock_timestamp(),
  outcome text not null check (outcome in ('done', 'unchanged', 'held', 'refused')),
  version int,
  report jsonb not null,
  primary key (estab, id)
);
create index import_run_when on import_run (estab, started_at);
