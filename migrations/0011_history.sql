-- place: the line of the file, or the page of the provider, that a record came from. What is read the longest comes first:
-- nothing is held while it is waited for.
alter table roster_enrollment add column place int;
alter table roster_user add column place int;
alter table roster_class add column place int;
alter table roster_course add column place int;
alter table roster_academic_session add column place int;
alter table roster_org add column place int;
alter table roster_demographics add column place int;

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

-- The roster's own columns are held to its rules when they are merged.

create unlogged table stage_org (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text,
  status text not null,
  name text collate "C",
  type text collate "C",
  identifier text collate "C",
  parent_id text collate "C",
  metadata jsonb,
  record text not null,
  late text not null,
  reading int not null,
  line int not null,
  place int
);
create index stage_org_reading on stage_org (estab, reading, sourced_id);

create unlogged table stage_academic_session (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text,
  status text not null,
  title text collate "C",
  start_date date,
  end_date date,
  type text collate "C",
  parent_id text collate "C",
  school_year text collate "C",
  metadata jsonb,
  record text not null,
  late text not null,
  reading int not null,
  line int not null,
  place int
);
create index stage_academic_session_reading on stage_academic_session (estab, reading, sourced_id);

create unlogged table stage_course (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text,
  status text not null,
  title text collate "C",
  school_year_id text collate "C",
  course_code text collate "C",
  grades text[] collate "C",
  org_id text collate "C",
  subjects text[] collate "C",
  subject_codes text[] collate "C",
  metadata jsonb,
  record text not null,
  late text not null,
  reading int not null,
  line int not null,
  place int
);
create index stage_course_reading on stage_course (estab, reading, sourced_id);

create unlogged table stage_class (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text,
  status text not null,
  title text collate "C",
  grades text[] collate "C",
  course_id text collate "C",
  class_code text collate "C",
  class_type text collate "C",
  location text collate "C",
  school_id text collate "C",
  term_ids text[] collate "C",
  subjects text[] collate "C",
  subject_codes text[] collate "C",
  periods text[] collate "C",
  metadata jsonb,
  record text not null,
  late text not null,
  reading int not null,
  line int not null,
  place int
);
create index stage_class_reading on stage_class (estab, reading, sourced_id);

create unlogged table stage_user (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text,
  status text not null,
  enabled_user boolean,
  org_ids text[] collate "C",
  role text collate "C",
  username text collate "C",
  user_id_types text[] collate "C",
  user_id_identifiers text[] collate "C",
  given_name text collate "C",
  family_name text collate "C",
  middle_name text collate "C",
  identifier text collate "C",
  email text collate "C",
  sms text collate "C",
  phone text collate "C",
  agent_ids text[] collate "C",
  grades text[] collate "C",
  metadata jsonb,
  record text not null,
  late text not null,
  reading int not null,
  line int not null,
  place int
);
create index stage_user_reading on stage_user (estab, reading, sourced_id);

create unlogged table stage_enrollment (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text,
  status text not null,
  class_id text collate "C",
  school_id text collate "C",
  user_id text collate "C",
  role text collate "C",
  "primary" boolean,
  begin_date date,
  end_date date,
  metadata jsonb,
  record text not null,
  late text not null,
  reading int not null,
  line int not null,
  place int
);
create index stage_enrollment_reading on stage_enrollment (estab, reading, sourced_id);

create unlogged table stage_demographics (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text,
  status text not null,
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
  record text not null,
  late text not null,
  reading int not null,
  line int not null,
  place int
);
create index stage_demographics_reading on stage_demographics (estab, reading, sourced_id);

create unlogged table stage_rejected (
  estab text collate "C" not null,
  reading int not null,
  collection text not null,
  line int not null,
  sourced_id text collate "C"
);
create index stage_rejected_reading on stage_rejected (estab, reading);

-- What the merge will do, found by one comparison of what is staged with what is there.
create unlogged table stage_change (
  estab text collate "C" not null,
  reading int not null,
  collection text not null,
  sourced_id text collate "C" not null,
  what text not null
);
create index stage_change_reading on stage_change (estab, reading);

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
create index stage_mark_reading on stage_mark (estab, reading);

-- History: what a merge replaces, with the version that replaced it. A state holds from its own version until that one.

create table roster_org_history (
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
  head text not null,
  record text not null,
  late text not null,
  place int,
  until_version int not null,
  purged_at timestamptz,
  primary key (estab, sourced_id, version),
  foreign key (estab) references roster (estab) on delete cascade
);
create index roster_org_history_until on roster_org_history (estab, until_version);

create table roster_academic_session_history (
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
  head text not null,
  record text not null,
  late text not null,
  place int,
  until_version int not null,
  purged_at timestamptz,
  primary key (estab, sourced_id, version),
  foreign key (estab) references roster (estab) on delete cascade
);
create index roster_academic_session_history_until on roster_academic_session_history (estab, until_version);

create table roster_course_history (
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
  head text not null,
  record text not null,
  late text not null,
  place int,
  until_version int not null,
  purged_at timestamptz,
  primary key (estab, sourced_id, version),
  foreign key (estab) references roster (estab) on delete cascade
);
create index roster_course_history_until on roster_course_history (estab, until_version);

create table roster_class_history (
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
  head text not null,
  record text not null,
  late text not null,
  place int,
  until_version int not null,
  purged_at timestamptz,
  primary key (estab, sourced_id, version),
  foreign key (estab) references roster (estab) on delete cascade
);
create index roster_class_history_until on roster_class_history (estab, until_version);

create table roster_user_history (
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
  head text not null,
  record text not null,
  late text not null,
  place int,
  until_version int not null,
  purged_at timestamptz,
  primary key (estab, sourced_id, version),
  foreign key (estab) references roster (estab) on delete cascade
);
create index roster_user_history_until on roster_user_history (estab, until_version);

create table roster_enrollment_history (
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
  head text not null,
  record text not null,
  late text not null,
  place int,
  until_version int not null,
  purged_at timestamptz,
  primary key (estab, sourced_id, version),
  foreign key (estab) references roster (estab) on delete cascade
);
create index roster_enrollment_history_until on roster_enrollment_history (estab, until_version);

create table roster_demographics_history (
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
  head text not null,
  record text not null,
  late text not null,
  place int,
  until_version int not null,
  purged_at timestamptz,
  primary key (estab, sourced_id, version),
  foreign key (estab) references roster (estab) on delete cascade
);
create index roster_demographics_history_until on roster_demographics_history (estab, until_version);

-- What X-Roster-Version names for several schools at once.
create table roster_version_set (
  name text collate "C" primary key,
  versions jsonb not null,
  noted_at timestamptz not null default now()
);
create index roster_version_set_noted on roster_version_set (noted_at);
