-- The whole schema of Schoolbell, ordered by subject.
--
-- Conventions
--   estab   identifies the school (establishment). It comes first in the key of every table that holds a school's data, so that
--           a database spread over several nodes can keep each school's rows together.
--   rp      identifies an application (the relying party).
--   sealed  marks columns that are encrypted with SECRET_KEY. Hashes are SHA-256, passwords argon2id.
--   "C"     compares ids by code point.
--
-- Until release 0.1.0 this file may be edited. From that release on, a change is a new migration and migrations/sums.txt holds the
-- checksum of each.

-- Compares text by code point after full Unicode lower-casing, as filters do. PostgreSQL 18 has the mapping built in; older versions use ICU.
do $$
begin
  if current_setting('server_version_num')::int >= 180000 then
    create collation roster_fold (provider = builtin, locale = 'PG_UNICODE_FAST');
  else
    create collation roster_fold (provider = icu, locale = 'und');
  end if;
end
$$;

-- Percent-encodes an id as the hrefs of records do, for filters that compare hrefs.
create function roster_encode(id text) returns text language sql immutable strict parallel safe as $$
  select string_agg(case when c ~ '[A-Za-z0-9_.!~*''()-]' then c else regexp_replace(upper(encode(convert_to(c, 'UTF8'), 'hex')), '(..)', '%\1', 'g') end, '' order by n)
  from regexp_split_to_table(id, '') with ordinality as split (c, n)
$$;

-- Returns the first fields of a record's JSON. Between two bytes 0x02 it names the version whose instant becomes dateLastModified.
-- It calls only immutable functions, so that PostgreSQL inlines it instead of calling it for each row.
create function roster_head(estab text, sourced_id text, status text, version int) returns text language sql immutable strict parallel safe as $$
  select '{"sourcedId":"' || replace(replace(sourced_id, '\', '\\'), '"', '\"') || '","status":"' || status || '","dateLastModified":"' || chr(2) || estab || ' ' || version::text || chr(2) || '"'
$$;

-- Returns the letters by which people are searched: lower case, without accents, at most 60 characters. It is not strict, so that
-- PostgreSQL inlines it; a function call per row would make importing people four times as slow. The body in this form names its
-- collation at once, because an index is built without a search path.
create function roster_letters(words text) returns text language sql immutable parallel safe
  return case when octet_length(words) = char_length(words) then lower(left(words, 60) collate "C")
    else lower(regexp_replace(normalize(left(words, 60), NFD), '[\u0300-\u036f]', '', 'g') collate roster_fold) collate "C" end;

-- Returns the local id of a person at a school. It depends on nothing else, so it never changes.
create function presence_id(estab text, sourced_id text) returns text language sql immutable strict parallel safe as $$
  select 'p-' || encode(substr(sha256(convert_to(estab || chr(31) || sourced_id, 'UTF8')), 1, 12), 'hex')
$$;

-- Returns the prepared transactions of this node that are not committed yet. In a database spread over several nodes, their rows
-- appear a moment after the commit.
create function commits_pending() returns text[] language sql volatile as $$
  select coalesce(array_agg(gid), '{}') from pg_prepared_xacts where database = current_database()
$$;

-- Returns the planner's estimates for a table: its rows and its number of schools. In a spread database it runs on the node that
-- holds the piece of the table.
create function known_statistics(of text, out rows float8, out schools float8) language sql volatile as $$
  select c.reltuples::float8, s.n_distinct::float8
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
    left join pg_stats s on s.schemaname = n.nspname and s.tablename = c.relname and s.attname = 'estab'
  where c.oid = to_regclass(of)
$$;

-- Refreshes the planner's statistics of a table. Returns false if this node has no such table.
create function gather_statistics(of text) returns boolean language plpgsql volatile as $$
begin
  if to_regclass(of) is null then return false; end if;
  execute format('analyze %s', of::regclass);
  return true;
end
$$;

-- ==================== Schools, applications and access ====================

-- Schools.
create table establishment (
  estab text collate "C" primary key check (estab ~ '^[A-Za-z0-9._-]{1,32}$'),
  name text not null,
  email text not null,
  time_zone text not null default 'Europe/London',
  -- Null until the school has a data source.
  connector text check (connector in ('csv', 'oneroster', 'demo')),
  created_at timestamptz not null default now(),
  -- Null while only an application has named the school, so that its address is not confirmed.
  confirmed_at timestamptz default now()
);
-- Finds a school by the letters of its name before anybody has signed in.
create index establishment_letters on establishment (regexp_replace(lower(name), '[^[:alnum:]]+', '', 'g') text_pattern_ops) where confirmed_at is not null;

-- Applications (relying parties).
create table application (
  rp text collate "C" primary key check (rp ~ '^[A-Za-z0-9._-]{1,64}$'),
  name text not null,
  callback_url text not null,
  redirect_uris text[] not null default '{}',
  required_scopes text[] not null,
  optional_scopes text[] not null,
  client_id text collate "C" not null unique,
  created_at timestamptz not null default now(),
  website text,
  privacy_notice text,
  contact text,
  -- The last change of the callback URL: the URL before, the person, and the time.
  callback_changed_from text,
  callback_changed_by text,
  callback_changed_at timestamptz,
  -- Set while a developer's change of the callback URL to another host waits for the operator's confirmation: the host that was
  -- confirmed last. Events that carry a secret wait until then.
  confirmed_callback_host text,
  -- Whether the application receives an event for every change of an authorisation, not only for approvals.
  state_events boolean not null default false,
  -- Whether the demo created the application; only these can use the sandbox.
  demo boolean not null default false
);

-- Secrets of applications. Secrets are checked against their hash; only signing secrets are also stored encrypted, because the
-- service signs with them.
create table application_secret (
  id uuid primary key default gen_random_uuid(),
  rp text collate "C" not null references application on delete cascade,
  kind text not null check (kind in ('client', 'management', 'signing')),
  hash bytea not null,
  sealed bytea,
  created_at timestamptz not null default now(),
  valid_until timestamptz
);
create index application_secret_rp on application_secret (rp, kind);

-- Permissions: the scopes that a school granted to an application, and their state. invitation and authorisation_event record how they came about.
create table authorisation (
  estab text collate "C" not null references establishment on delete cascade,
  rp text collate "C" not null references application on delete cascade,
  scopes text[] not null,
  state text not null check (state in ('Approved', 'Paused', 'Revoked')),
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  -- When the application was told that the data is ready.
  installed_at timestamptz,
  -- The school secret that it was told with that event.
  announced_secret uuid,
  primary key (estab, rp)
);
create index authorisation_rp on authorisation (rp);

-- Secrets of one application at one school. The encrypted copy exists only until the authentication event that carries the secret
-- has been delivered.
create table school_secret (
  estab text collate "C" not null,
  id uuid not null default gen_random_uuid(),
  rp text collate "C" not null,
  hash bytea not null,
  sealed bytea,
  created_at timestamptz not null default now(),
  valid_until timestamptz,
  primary key (estab, id),
  foreign key (estab, rp) references authorisation on delete cascade
);
create index school_secret_rp on school_secret (estab, rp);

-- Keys that sign access tokens. A retired key keeps only its public half, so that its tokens can still be told from forged ones.
create table token_key (
  kid text primary key,
  public_jwk jsonb not null,
  sealed_private_jwk bytea,
  created_at timestamptz not null default now(),
  -- Null for the key that signs at present.
  trusted_until timestamptz,
  check ((trusted_until is null) = (sealed_private_jwk is not null))
);

-- Failed attempts to authenticate, for rate limits. kind: a secret, a password, or the request for a link.
create unlogged table wrong_try (
  kind text not null default 'secret',
  client text not null,
  address text not null,
  tried_at timestamptz not null default now()
);
create index wrong_try_address on wrong_try (kind, address, tried_at);
create index wrong_try_age on wrong_try (tried_at);
create index wrong_try_client on wrong_try (kind, client, tried_at);

-- Requests per credential and minute, for rate limits. Every process adds its share about once a second.
create unlogged table request_count (
  credential text not null,
  minute timestamptz not null,
  count int not null,
  primary key (credential, minute)
);

-- ==================== Onboarding: invitations, links and decisions ====================

-- Requests of applications to schools.
create table invitation (
  estab text collate "C" not null references establishment on delete cascade,
  id uuid not null default gen_random_uuid(),
  rp text collate "C" not null references application on delete cascade,
  -- Proposed: waits until the operator confirms the school.
  state text not null check (state in ('Proposed', 'Invited', 'Approved', 'Declined', 'Expired', 'Withdrawn')),
  required_scopes text[] not null,
  optional_scopes text[] not null,
  -- As the application typed it. Shown as text, never used as an address.
  school_name text not null,
  contact_email text not null,
  reason text,
  invited_by text not null check (invited_by in ('application', 'operator')),
  created_at timestamptz not null default now(),
  invited_at timestamptz,
  expires_at timestamptz,
  decided_at timestamptz,
  decided_by text,
  primary key (estab, id)
);
create index invitation_expired on invitation (decided_at) where state = 'Expired';
create index invitation_expiring on invitation (expires_at) where state = 'Invited';
create unique index invitation_open on invitation (estab, rp) where state in ('Proposed', 'Invited');
create index invitation_proposed on invitation (created_at) where state = 'Proposed';
create index invitation_rp on invitation (rp);

-- Every change of an authorisation: when it happened, who acted and which scopes remained.
create table authorisation_event (
  estab text collate "C" not null references establishment on delete cascade,
  rp text collate "C" not null references application on delete cascade,
  number bigint generated always as identity,
  at timestamptz not null default clock_timestamp(),
  state text not null,
  actor text not null,
  scopes text[],
  primary key (estab, rp, number)
);

-- Decisions of schools about applications that were removed later, with the name by which the school knew the application.
create table past_decision (
  estab text collate "C" not null references establishment on delete cascade,
  rp text collate "C" not null,
  application text not null,
  number bigint not null,
  at timestamptz not null,
  state text not null,
  actor text not null,
  scopes text[],
  primary key (estab, rp, number)
);

-- Links that are mailed to schools. The link contains the estab and a random part, of which only the hash is stored.
create table school_link (
  estab text collate "C" not null references establishment on delete cascade,
  hash bytea not null,
  invitation uuid,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (estab, hash)
);

-- Sessions of schools that opened a link.
create table school_session (
  estab text collate "C" not null references establishment on delete cascade,
  hash bytea not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (estab, hash)
);

-- Tokens with which a school's export job uploads CSV files. An ended token keeps its row, as a record of who created and who
-- ended it.
create table upload_token (
  estab text collate "C" not null references establishment on delete cascade,
  id uuid not null default gen_random_uuid(),
  hash bytea,
  made_at timestamptz not null default clock_timestamp(),
  made_by text not null check (made_by in ('school', 'operator')),
  last_used_at timestamptz,
  ended_at timestamptz,
  ended_by text check (ended_by in ('school', 'operator')),
  primary key (estab, id)
);
create index upload_token_ended on upload_token (ended_at) where ended_at is not null;
create index upload_token_hash on upload_token (hash) where hash is not null;
create unique index upload_token_open on upload_token (estab) where ended_at is null;

-- Records that each application has read of a school, counted per day and collection.
create table disclosure (
  estab text collate "C" not null references establishment on delete cascade,
  rp text collate "C" not null,
  day date not null,
  collection text not null,
  requests int not null,
  records bigint not null,
  fields text[] not null,
  primary key (estab, rp, day, collection)
);
create index disclosure_day on disclosure (day);

-- Records of erased schools and people: the kind of data, the amount and the time, but no name. The table refers to no other, because
-- the erased rows are gone.
create table erasure (
  number bigint generated always as identity primary key,
  at timestamptz not null default now(),
  what text not null,
  counts jsonb not null
);
create index erasure_at on erasure (at);

-- ==================== Data sources and imports ====================

-- Settings of each school's connector. state: data that one fetch stores for the next one.
create table connector_setting (
  estab text collate "C" primary key references establishment on delete cascade,
  settings jsonb not null default '{}',
  sealed_credentials bytea,
  state jsonb not null default '{}'
);

-- State of each component database of a school.
create table component_database (
  estab text collate "C" not null references establishment on delete cascade,
  name text not null check (name in ('SchoolData', 'Attendance')),
  -- Result of the last fetch.
  status text not null default 'NoData' check (status in ('NoData', 'OK', 'Error', 'Timeout', 'Paused')),
  message text,
  row_count int not null default 0,
  -- The last fetch that succeeded.
  updated_at timestamptz,
  -- The last fetch that changed something.
  changed_at timestamptz,
  -- When the data is no longer fresh. Null for data that is only uploaded.
  expires_at timestamptz,
  -- When the next scheduled fetch is due.
  refresh_at timestamptz,
  -- Set while a fetch is queued or running.
  refreshing_since timestamptz,
  progress real,
  -- When the current series of failed fetches began.
  failing_since timestamptz,
  -- The last problem that the school was mailed about. Null after a mail that the problem is over.
  told text check (told in ('held', 'refused', 'failing')),
  told_at timestamptz,
  primary key (estab, name)
);
create index component_database_refresh on component_database (refresh_at) where refresh_at is not null;

-- Uploaded CSV files on their way from the process that received them to the worker that imports them.
create table upload (
  estab text collate "C" not null references establishment on delete cascade,
  id uuid not null default gen_random_uuid(),
  created_at timestamptz not null default now(),
  primary key (estab, id)
);

-- Contents of uploads, in pieces.
create table upload_piece (
  estab text collate "C" not null,
  upload uuid not null,
  number int not null,
  bytes bytea not null,
  primary key (estab, upload, number),
  foreign key (estab, upload) references upload on delete cascade
);
-- The contents are compressed already.
alter table upload_piece alter column bytes set storage external;

-- Results of uploads; their contents are deleted after the import. run: the last import of the upload that ended.
create table upload_receipt (
  estab text collate "C" not null references establishment on delete cascade,
  id uuid not null,
  taken_at timestamptz not null default clock_timestamp(),
  by_job boolean not null,
  run uuid,
  primary key (estab, id)
);
create index upload_receipt_taken on upload_receipt (taken_at);

-- Imports that ended, with their reports.
create table import_run (
  estab text collate "C" not null references establishment on delete cascade,
  id uuid not null default gen_random_uuid(),
  started_at timestamptz not null,
  finished_at timestamptz not null default clock_timestamp(),
  outcome text not null check (outcome in ('done', 'unchanged', 'held', 'refused')),
  -- The roster version when the import had ended.
  version int not null,
  report jsonb not null,
  reading int,
  provider text,
  kind text not null,
  partial boolean not null default false,
  -- The decision of a person about an import that waited for approval.
  decision text check (decision in ('approved', 'discarded', 'replaced')),
  decided_at timestamptz,
  primary key (estab, id)
);
create index import_run_ended on import_run (estab, finished_at desc, id);
create index import_run_finished on import_run (finished_at);
create index import_run_held on import_run (estab, finished_at) where outcome = 'held';
create index import_run_when on import_run (estab, started_at);

-- How each import ended. This copy of import_run is stored where statements about all schools can read it.
create table import_end (
  estab text collate "C" not null references establishment on delete cascade,
  id uuid not null,
  started_at timestamptz not null,
  finished_at timestamptz not null,
  outcome text not null,
  primary key (estab, id)
);
create index import_end_finished on import_end (finished_at);
create index import_end_started on import_end (estab, started_at);

-- Faulty rows of an import. dependants: how many other rows were skipped because they refer to this one.
create table import_fault (
  estab text collate "C" not null,
  import uuid not null,
  number int not null,
  file text not null,
  line int,
  column_name text,
  value text,
  rule text not null,
  dependants int not null default 0,
  primary key (estab, import, number),
  foreign key (estab, import) references import_run on delete cascade
);

-- Records that an import would delete while it waits for approval. Some of each kind carry a name, for the person who decides.
create table import_loss (
  estab text collate "C" not null,
  import uuid not null,
  collection text not null,
  sourced_id text collate "C" not null,
  role text,
  name text,
  -- Roles that would end, for a user who would stay. Null if the record itself would be deleted.
  loses text[],
  primary key (estab, import, collection, sourced_id),
  foreign key (estab, import) references import_run on delete cascade
);

-- Numbers the imports of a school, so that an older one cannot overwrite a newer one.
create table reading (
  estab text collate "C" primary key references establishment on delete cascade,
  started int not null default 0,
  -- Numbers of the newest imports whose roster and whose marks were merged.
  roster_merged int not null default 0,
  marks_merged int not null default 0,
  -- Fingerprint of the last merge. A source with the same fingerprint is not read again.
  taken jsonb
);

-- ==================== Rosters ====================

-- Each school's roster has a version. A merge that changes something creates the next one; a row carries the version that last
-- changed it. roster_version holds the instant of a version, taken last before the commit, so that a client that reads deltas
-- misses nothing.

-- The current roster of each school.
create table roster (
  estab text collate "C" primary key references establishment on delete cascade,
  -- A school that is removed and added again starts from version 0 with another id.
  id uuid not null default gen_random_uuid(),
  version int not null default 0,
  -- The version that the last purge looked at, and the newest version that was old enough to purge then.
  purge_version int,
  purge_ripe int,
  -- History exists for the versions from history_from to history_to.
  history_from int not null default 0,
  history_to int not null default 0,
  -- When records were purged that the history still holds; a job deletes them there an hour later. Null if there are none.
  purged_at timestamptz,
  -- The oldest version that can be read.
  kept_from int generated always as (case when history_to = version then history_from else version end) stored
);

-- Versions of rosters. stamp: the instant as records show it. import: the import that created the version; null for a purge.
create table roster_version (
  estab text collate "C" not null references roster on delete cascade,
  version int not null,
  instant timestamptz not null,
  stamp text not null,
  import uuid,
  primary key (estab, version)
);

-- A copy of each roster's state, for queries across all schools and for every check of an access token. It is updated in the
-- transaction that updates roster.
create table roster_standing (
  estab text collate "C" primary key references establishment on delete cascade,
  roster_id uuid not null,
  version int not null,
  kept_from int not null,
  instant timestamptz,
  purged_at timestamptz,
  -- When the daily visit last looked for expired data of this school.
  swept_at timestamptz not null default '-infinity',
  -- Active records and active pupils.
  records int not null default 0,
  pupils int not null default 0
);

-- How many records of each kind and status a collection has at the current version. A person with several kinds, such as teacher and
-- parent, counts in one row: kinds lists all of them, separated by commas. It is empty for everyone else.
create table roster_total (
  estab text collate "C" not null references roster on delete cascade,
  collection text not null,
  kind text not null,
  kinds text not null default '',
  status text not null,
  count int not null,
  primary key (estab, collection, kind, kinds, status)
);

-- Every thousandth key of a collection with the number of records of each kind and status before it, so that a deep offset needs
-- no scan.
create table roster_milestone (
  estab text collate "C" not null references roster on delete cascade,
  collection text not null,
  sourced_id text collate "C" not null,
  preceding jsonb not null,
  primary key (estab, collection, sourced_id)
);

-- Records that lost something through a change of another record, such as a class that lost a member. Without a row here, clients
-- that read deltas would miss the change. what: the collection, or "left" and the kind of person.
create table roster_touch (
  estab text collate "C" not null references roster on delete cascade,
  what text not null,
  sourced_id text collate "C" not null,
  version int not null,
  primary key (estab, what, sourced_id)
);

-- Names of version combinations of several schools, as X-Roster-Version carries them.
create table roster_version_set (
  name text collate "C" primary key,
  versions jsonb not null,
  noted_at timestamptz not null default now()
);
create index roster_version_set_noted on roster_version_set (noted_at);

-- Collections. The columns after the source's own fields are the same in all seven tables:
--
--   kind     the column by which scopes and sub-type routes select. For enrollments and demographics it is the kind of the person.
--   kinds    all kinds of a person who has several, or of such a person's enrollments and demographics; otherwise null.
--   version  the version that last changed the row.
--   head, record, late  the record's JSON in three parts, rendered once by the merge, so that a read only concatenates them. head has
--            the first fields. record has the fields from the source; the byte 0x01 stands for the address of the API, which depends
--            on the dialect. late has references that may have to be filtered for each reader (children, agents).
--   v1p2, shared  OneRoster 1.2 shows the first `shared` characters of record (null: all of them), followed by v1p2.
--   lacks    fields that the source left out and that 1.1 requires; record contains a substitute.
--   place    the line of the file, or the page of the provider, that the record came from.
--
-- There are no foreign keys: a check per row would cost more than the whole merge, which verifies all references at once. The indexes
-- that end in _gone find the records that may be purged without reading the others.

-- Organisations.
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
  place int,
  v1p2 text,
  shared int,
  primary key (estab, sourced_id)
);
create index roster_org_gone on roster_org (estab, version) where status = 'tobedeleted';
create index roster_org_parent on roster_org (estab, parent_id);
create index roster_org_version on roster_org (estab, version);

-- Academic sessions: terms, years and other periods.
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
  place int,
  v1p2 text,
  shared int,
  primary key (estab, sourced_id)
);
create index roster_academic_session_gone on roster_academic_session (estab, version) where status = 'tobedeleted';
create index roster_academic_session_parent on roster_academic_session (estab, parent_id);
create index roster_academic_session_version on roster_academic_session (estab, version);

-- Courses.
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
  place int,
  v1p2 text,
  shared int,
  lacks text[] collate "C",
  primary key (estab, sourced_id)
);
create index roster_course_gone on roster_course (estab, version) where status = 'tobedeleted';
create index roster_course_version on roster_course (estab, version);

-- Classes.
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
  place int,
  v1p2 text,
  shared int,
  lacks text[] collate "C",
  primary key (estab, sourced_id)
);
create index roster_class_course on roster_class (estab, course_id);
create index roster_class_gone on roster_class (estab, version) where status = 'tobedeleted';
create index roster_class_school on roster_class (estab, school_id);
create index roster_class_version on roster_class (estab, version);

-- People.
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
  place int,
  v1p2 text,
  shared int,
  lacks text[] collate "C",
  kinds text[] collate "C",
  user_master_identifier text collate "C",
  preferred_first_name text collate "C",
  preferred_middle_name text collate "C",
  preferred_last_name text collate "C",
  pronouns text collate "C",
  primary_org_id text collate "C",
  user_profiles jsonb,
  -- Roles at organisations. Null if the source has one role for all organisations.
  roles jsonb,
  primary key (estab, sourced_id)
);
-- Finds the people who name somebody as their parent or child.
create index roster_user_agents on roster_user using gin (agent_ids) where agent_ids is not null;
create index roster_user_gone on roster_user (estab, version) where status = 'tobedeleted';
-- Searches people by name within each kind. A given name alone is found along the same index.
create index roster_user_names on roster_user (estab, kind, roster_letters(family_name), roster_letters(given_name), sourced_id);
create index roster_user_presence on roster_user (estab, presence_id(estab, sourced_id));
create index roster_user_version on roster_user (estab, version);

-- Enrollments.
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
  place int,
  v1p2 text,
  shared int,
  kinds text[] collate "C",
  primary key (estab, sourced_id)
);
create index roster_enrollment_class on roster_enrollment (estab, class_id);
create index roster_enrollment_gone on roster_enrollment (estab, version) where status = 'tobedeleted';
create index roster_enrollment_user on roster_enrollment (estab, user_id);
create index roster_enrollment_version on roster_enrollment (estab, version);

-- Demographics.
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
  place int,
  v1p2 text,
  shared int,
  kinds text[] collate "C",
  primary key (estab, sourced_id)
);
create index roster_demographics_gone on roster_demographics (estab, version) where status = 'tobedeleted';
create index roster_demographics_version on roster_demographics (estab, version);

-- Earlier states of records, one table per collection. until_version: the version that replaced the state. purged_at: when the
-- record itself was purged.
create table roster_org_history (
  like roster_org,
  until_version int not null,
  purged_at timestamptz,
  primary key (estab, sourced_id, version),
  foreign key (estab) references roster on delete cascade
);
create index roster_org_history_until on roster_org_history (estab, until_version);

-- Earlier states of academic sessions.
create table roster_academic_session_history (
  like roster_academic_session,
  until_version int not null,
  purged_at timestamptz,
  primary key (estab, sourced_id, version),
  foreign key (estab) references roster on delete cascade
);
create index roster_academic_session_history_until on roster_academic_session_history (estab, until_version);

-- Earlier states of courses.
create table roster_course_history (
  like roster_course,
  until_version int not null,
  purged_at timestamptz,
  primary key (estab, sourced_id, version),
  foreign key (estab) references roster on delete cascade
);
create index roster_course_history_until on roster_course_history (estab, until_version);

-- Earlier states of classes.
create table roster_class_history (
  like roster_class,
  until_version int not null,
  purged_at timestamptz,
  primary key (estab, sourced_id, version),
  foreign key (estab) references roster on delete cascade
);
create index roster_class_history_until on roster_class_history (estab, until_version);

-- Earlier states of users.
create table roster_user_history (
  like roster_user,
  until_version int not null,
  purged_at timestamptz,
  primary key (estab, sourced_id, version),
  foreign key (estab) references roster on delete cascade
);
create index roster_user_history_until on roster_user_history (estab, until_version);

-- Earlier states of enrollments.
create table roster_enrollment_history (
  like roster_enrollment,
  until_version int not null,
  purged_at timestamptz,
  primary key (estab, sourced_id, version),
  foreign key (estab) references roster on delete cascade
);
create index roster_enrollment_history_until on roster_enrollment_history (estab, until_version);

-- Earlier states of demographics.
create table roster_demographics_history (
  like roster_demographics,
  until_version int not null,
  purged_at timestamptz,
  primary key (estab, sourced_id, version),
  foreign key (estab) references roster on delete cascade
);
create index roster_demographics_history_until on roster_demographics_history (estab, until_version);

-- ==================== Staging ====================

-- Rows of an import between COPY and merge, keyed by school and import number (reading), for the length of the merging
-- transaction. line: the row's position in its source. Columns may be null here; the merge enforces the rules.

-- Staged organisations.
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
  place int,
  v1p2 text,
  shared int
);
create index stage_org_reading on stage_org (estab, reading, sourced_id);

-- Staged academic sessions.
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
  place int,
  v1p2 text,
  shared int
);
create index stage_academic_session_reading on stage_academic_session (estab, reading, sourced_id);

-- Staged courses.
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
  place int,
  v1p2 text,
  shared int,
  lacks text[] collate "C"
);
create index stage_course_reading on stage_course (estab, reading, sourced_id);

-- Staged classes.
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
  place int,
  v1p2 text,
  shared int,
  lacks text[] collate "C"
);
create index stage_class_reading on stage_class (estab, reading, sourced_id);

-- Staged users.
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
  place int,
  v1p2 text,
  shared int,
  lacks text[] collate "C",
  kinds text[] collate "C",
  user_master_identifier text collate "C",
  preferred_first_name text collate "C",
  preferred_middle_name text collate "C",
  preferred_last_name text collate "C",
  pronouns text collate "C",
  primary_org_id text collate "C",
  user_profiles jsonb,
  roles jsonb
);
create index stage_user_reading on stage_user (estab, reading, sourced_id);

-- Staged enrollments.
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
  place int,
  v1p2 text,
  shared int
);
create index stage_enrollment_reading on stage_enrollment (estab, reading, sourced_id);

-- Staged demographics.
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
  place int,
  v1p2 text,
  shared int
);
create index stage_demographics_reading on stage_demographics (estab, reading, sourced_id);

-- Staged attendance marks.
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

-- Rows that the checks rejected. about and rule: the fault. dependent: whether the row was rejected only because it refers to
-- another rejected row.
create unlogged table stage_rejected (
  estab text collate "C" not null,
  reading int not null,
  collection text not null,
  line int not null,
  sourced_id text collate "C",
  fault int,
  dependent boolean not null default false,
  about text,
  rule text
);
create index stage_rejected_reading on stage_rejected (estab, reading);

-- Faults of staged rows.
create unlogged table stage_fault (
  estab text collate "C" not null,
  reading int not null,
  number int not null,
  file text not null,
  line int,
  column_name text,
  value text,
  rule text not null
);
create index stage_fault_reading on stage_fault (estab, reading);

-- The planned change of each record, found by one comparison of the staged rows with the roster.
create unlogged table stage_change (
  estab text collate "C" not null,
  reading int not null,
  collection text not null,
  sourced_id text collate "C" not null,
  what text not null
);
create index stage_change_reading on stage_change (estab, reading);

-- ==================== Attendance and writeback ====================

-- Versions of a school's marks, like roster_version.
create table attendance_version (
  estab text collate "C" not null references establishment on delete cascade,
  version int not null,
  instant timestamptz not null,
  primary key (estab, version)
);

-- Current attendance marks. A mark that was withdrawn stays with a null mark, so that clients that read deltas learn of it.
create table attendance_mark (
  estab text collate "C" not null references establishment on delete cascade,
  date date not null,
  session text not null check (session in ('AM', 'PM')),
  student_id text collate "C" not null,
  mark text,
  minutes_late int,
  notes text,
  version int not null,
  primary key (estab, date, student_id, session)
);
create index attendance_mark_version on attendance_mark (estab, version);

-- Every change of a mark with the values that it replaced. rp and tracking_id are null for changes that came from the MIS.
create table attendance_history (
  estab text collate "C" not null references establishment on delete cascade,
  date date not null,
  session text not null,
  student_id text collate "C" not null,
  version int not null,
  at timestamptz not null default clock_timestamp(),
  rp text collate "C",
  tracking_id uuid,
  reason text,
  mark text,
  minutes_late int,
  notes text,
  previous_mark text,
  previous_minutes_late int,
  previous_notes text,
  primary key (estab, date, student_id, session, version)
);
create index attendance_history_at on attendance_history (at);
create index attendance_history_tracking on attendance_history (estab, tracking_id) where tracking_id is not null;

-- Requests to write marks to the MIS.
create table writeback (
  estab text collate "C" not null,
  tracking_id uuid not null default gen_random_uuid(),
  rp text collate "C" not null,
  status text not null default 'Pending' check (status in ('Pending', 'Completed', 'Rejected', 'Failed', 'TimedOut')),
  partial boolean not null,
  -- Recognises the same request, so that it joins the pending writeback.
  request_hash bytea not null,
  idempotency_key text,
  callbacks jsonb not null,
  submitted_at timestamptz not null default now(),
  deadline_at timestamptz not null,
  completed_at timestamptz,
  attempts int not null default 0,
  message text,
  undo_of uuid,
  -- Faults of a request that was refused, for a repeated request with the same Idempotency-Key.
  faults jsonb,
  primary key (estab, tracking_id),
  foreign key (estab, rp) references authorisation on delete cascade
);
create index writeback_addressed on writeback (completed_at) where idempotency_key is not null or callbacks <> '[]';
create index writeback_completed on writeback (completed_at) where completed_at is not null;
create unique index writeback_key on writeback (estab, rp, idempotency_key) where idempotency_key is not null;
create unique index writeback_pending on writeback (estab, rp, request_hash) where status = 'Pending' and idempotency_key is null;
create unique index writeback_undo on writeback (estab, undo_of) where undo_of is not null and status in ('Pending', 'Completed');

-- Marks of a writeback with their results.
create table writeback_mark (
  estab text collate "C" not null,
  tracking_id uuid not null,
  index int not null,
  student_id text collate "C" not null,
  date text not null,
  session text not null,
  mark text,
  minutes_late int,
  notes text,
  previous_mark text,
  result text check (result in ('Written', 'Unchanged', 'Failed')),
  code text,
  message text,
  primary key (estab, tracking_id, index),
  foreign key (estab, tracking_id) references writeback on delete cascade
);
-- Finds other writebacks that have not finished with a pupil's mark.
create index writeback_mark_open on writeback_mark (estab, student_id, date, session) where result is null;

-- Requests with a callbackUrl, until their callback is in the outbox.
create table availability_wait (
  estab text collate "C" not null,
  id uuid not null default gen_random_uuid(),
  rp text collate "C" not null,
  endpoint text not null,
  databases text[] not null,
  callback_url text not null,
  requested_at timestamptz not null default now(),
  deadline_at timestamptz not null,
  next_check_at timestamptz not null,
  checks int not null default 0,
  done_at timestamptz,
  primary key (estab, id),
  foreign key (estab, rp) references authorisation on delete cascade
);
create index availability_wait_done on availability_wait (done_at) where done_at is not null;
create index availability_wait_open on availability_wait (next_check_at) where done_at is null;
create index availability_wait_rp on availability_wait (rp) where done_at is null;

-- Marks in the demo's MIS.
create table demo_mark (
  estab text collate "C" not null references establishment on delete cascade,
  date date not null,
  session text not null,
  student_id text collate "C" not null,
  mark text,
  minutes_late int,
  notes text,
  primary key (estab, date, student_id, session)
);
create index demo_mark_date on demo_mark (date);

-- Answers of the demo's MIS, so that a repeated write takes effect only once.
create table demo_write (
  estab text collate "C" not null references establishment on delete cascade,
  tracking_id uuid not null,
  answer jsonb not null,
  written_at timestamptz not null default now(),
  primary key (estab, tracking_id)
);
create index demo_write_age on demo_write (written_at);

-- ==================== Outbox: durable work and delivery ====================

-- Every side effect that must happen is a row of outbox, written in the transaction of its cause and executed by a worker.

-- Queues: work that is limited together, such as the calls to one receiver.
create table lane (
  key text collate "C" primary key,
  host text,
  -- How many rows may run at once.
  width int not null check (width > 0),
  -- Whether the answer 410 disables the queue. The queue of URLs that were given with one request goes on.
  lasting boolean not null,
  -- When the next waiting row is due. Null while `width` rows run; settling one of them sets it again.
  next_at timestamptz,
  failures int not null default 0,
  failing_since timestamptz,
  -- Until when the circuit breaker holds calls back.
  open_until timestamptz,
  openings int not null default 0,
  warned_at timestamptz,
  disabled_at timestamptz,
  disabled_why text,
  -- Raised when the address changes, so that late answers of the old receiver do not count against the new one.
  epoch int not null default 0,
  -- When waiting work was last woken. Work that was running then has not noticed.
  woken_at timestamptz,
  -- When the application was last mailed that the receiver fails, and that it was disabled.
  failing_told_at timestamptz,
  disabled_told_at timestamptz,
  -- When an operator paused the queue.
  paused_at timestamptz,
  paused_by text
);
create index lane_host on lane (host) where host is not null;
create index lane_next on lane (next_at) where next_at is not null;
-- Finds queues with a problem without reading the healthy ones.
create index lane_trouble on lane (key) where failing_since is not null or disabled_at is not null or paused_at is not null;

-- Durable work: calls, mails, fetches, imports and other jobs.
create table outbox (
  estab text collate "C" not null,
  id text collate "C" not null,
  rp text collate "C",
  kind text not null,
  lane text collate "C" not null references lane,
  topic text,
  payload jsonb not null,
  body bytea,
  state text not null default 'waiting' check (state in ('waiting', 'running', 'done', 'failed', 'superseded', 'cancelled')),
  attempts int not null default 0,
  -- Attempts that no longer count against the schedule, because the work was replayed after them.
  forgiven int not null default 0,
  due_at timestamptz not null,
  claim uuid,
  lease_until timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  settled_at timestamptz,
  -- The order in which work entered its queue, taken while the queue is locked. created_at can be older after a long transaction.
  seq bigint generated always as identity,
  -- The event that waiting work waits for, so that the event can wake the work.
  waits_for text,
  claimed_at timestamptz,
  claimed_by text,
  -- The database session of the worker that holds the claim. Its end on the same server means that the worker has died.
  session_pid int,
  session_started_at timestamptz,
  session_server_started_at timestamptz,
  primary key (estab, id)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
-- The expression on created_at keeps the planner from walking an index of all applications' work in time order.
create index outbox_calls on outbox (rp, state, (created_at at time zone 'UTC'), id) where kind = 'call';
create index outbox_created on outbox (created_at);
create index outbox_failed_mails on outbox (settled_at) where kind = 'mail' and state = 'failed';
create index outbox_id on outbox (id);
-- Used by the foreign key when a queue is deleted.
create index outbox_lane on outbox (lane);
create index outbox_lease on outbox (lease_until) where state = 'running';
-- Tells after a failed call whether a newer event of the same topic exists.
create index outbox_newer on outbox (estab, topic, seq) where topic is not null;
create index outbox_pair on outbox (estab, rp);
create index outbox_running on outbox (lane) where state = 'running';
create index outbox_school_calls on outbox (estab, rp, state, (created_at at time zone 'UTC'), id) where kind = 'call';
create index outbox_school_work on outbox (estab, created_at, id) where kind <> 'call';
create index outbox_settled on outbox (settled_at) where settled_at is not null;
-- A burst of changes stays one event until its first attempt.
create unique index outbox_topic on outbox (estab, topic) where state = 'waiting' and attempts = 0;
create index outbox_waiting on outbox (lane, due_at) where state = 'waiting';
create index outbox_work on outbox (kind, state, created_at, id) where kind <> 'call';

-- Attempts of work, with the answer of the receiver.
create table outbox_attempt (
  estab text collate "C" not null,
  id text collate "C" not null,
  number int not null,
  at timestamptz not null default now(),
  success boolean not null,
  error_class text,
  detail jsonb not null,
  response bytea,
  next_at timestamptz,
  primary key (estab, id, number),
  foreign key (estab, id) references outbox on delete cascade
);
create index outbox_attempt_at on outbox_attempt (at);

-- Work settled and attempts made in each five minutes, so that a day need not be counted again and again.
create table outbox_tally (
  since timestamptz primary key,
  settled jsonb not null,
  attempts jsonb not null
);

-- Deliveries settled and attempts made in each hour. rp '*': all applications together.
create table delivery_hour (
  hour timestamptz not null,
  rp text collate "C" not null,
  delivered int not null,
  failed int not null,
  tries int not null,
  failed_tries int not null,
  primary key (hour, rp)
);
create index delivery_hour_rp on delivery_hour (rp, hour);

-- Webhook registrations: one per application, school and database.
create table webhook (
  estab text collate "C" not null,
  id uuid not null default gen_random_uuid(),
  rp text collate "C" not null,
  database_name text not null,
  url text not null,
  method text not null check (method in ('GET', 'POST')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- A change that the registration was not told of, because calls were held back at the time.
  missed_at timestamptz,
  primary key (estab, id),
  unique (estab, rp, database_name),
  foreign key (estab, rp) references authorisation on delete cascade
);
-- A queue knows its registration only by the id.
create index webhook_id on webhook (id);

-- Inboxes: addresses that receive calls for applications without a receiver of their own, and show them. The key is part of the
-- address and opens nothing but writing into the inbox. Calls are encrypted with a key of the inbox.
create table inbox (
  id uuid primary key default gen_random_uuid(),
  rp text not null references application on delete cascade,
  name text not null,
  key text not null unique,
  sealed_key bytea not null,
  answer text not null default '200' check (answer in ('200', '500', '410', 'slow', 'never')),
  -- The current minute and the calls received in it, for the limit.
  minute timestamptz not null default '-infinity',
  minute_calls int not null default 0,
  created_at timestamptz not null default now(),
  unique (rp, name)
);

-- Calls in inboxes. head: path and headers, encrypted; body: its first bytes, encrypted; bytes: the full length.
create table inbox_call (
  inbox uuid not null references inbox on delete cascade,
  seq bigint generated always as identity,
  received_at timestamptz not null default clock_timestamp(),
  method text not null,
  webhook_id text,
  verdict text not null,
  answer text not null,
  address text,
  bytes int not null,
  head bytea not null,
  body bytea not null,
  primary key (inbox, seq)
);
create index inbox_call_received on inbox_call (received_at);

-- Faults that the sandbox causes on purpose, one per application and kind.
create table sandbox_fault (
  rp text collate "C" not null references application on delete cascade,
  kind text not null check (kind in ('events', 'tokens', 'answers')),
  mode text not null,
  -- Length of a delay or lifetime of a token.
  seconds int,
  -- How many responses are left to spoil.
  remaining int,
  -- The call that waits until the next one was sent.
  holding text,
  set_at timestamptz not null default now(),
  until timestamptz not null,
  primary key (rp, kind)
);
create index sandbox_fault_until on sandbox_fault (until);

-- ==================== Identity: people who sign in ====================

-- People whom an application created, and who are not in the roster.
create table manual_user (
  estab text collate "C" not null references establishment on delete cascade,
  presence_id text collate "C" not null,
  title text not null,
  first_name text not null,
  last_name text not null,
  display_name text not null,
  email text not null,
  mobile text not null,
  rp text collate "C",
  created_at timestamptz not null default now(),
  primary key (estab, presence_id)
);
create unique index manual_user_email on manual_user (estab, lower(email));

-- Logins of people.
create table login (
  estab text collate "C" not null references establishment on delete cascade,
  presence_id text collate "C" not null,
  username text not null,
  -- Null until the person has registered.
  password_hash text,
  change_at_next_login boolean not null default false,
  wrong_tries int not null default 0,
  locked_until timestamptz,
  last_logged_in timestamptz,
  created_at timestamptz not null default now(),
  registered_at timestamptz,
  -- The address at which the registration link reached the person.
  verified_email text,
  primary key (estab, presence_id)
);
create unique index login_username on login (estab, lower(username));

-- Links with which people register or choose a new password.
create table registration_link (
  estab text collate "C" not null,
  hash bytea not null,
  presence_id text collate "C" not null,
  expires_at timestamptz not null,
  -- The request of an application that the school has not decided about; the link leads on to it.
  invitation uuid,
  -- The address that the link was mailed to.
  email text,
  primary key (estab, hash),
  foreign key (estab, presence_id) references login on delete cascade
);
create index registration_link_login on registration_link (estab, presence_id);

-- Sessions of people who signed in.
create table login_session (
  estab text collate "C" not null,
  hash bytea not null,
  presence_id text collate "C" not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (estab, hash),
  foreign key (estab, presence_id) references login on delete cascade
);
create index login_session_login on login_session (estab, presence_id);

-- Every identity operation and sign-in: when, who asked, about whom and the result.
create table identity_audit (
  estab text collate "C" not null,
  number bigint generated always as identity,
  at timestamptz not null default now(),
  rp text collate "C",
  operation text not null,
  presence_id text collate "C",
  outcome text not null,
  primary key (estab, number)
);
create index identity_audit_at on identity_audit (at);
-- Counts registration mails for their limit.
create index identity_audit_mail on identity_audit (estab, at) where operation in ('CreateLogin', 'CreateUser') and outcome = 'done';

-- Records of the OpenID Connect provider: codes, grants and sessions.
create table oidc_record (
  model text not null,
  id text not null,
  payload jsonb not null,
  grant_id text,
  uid text,
  user_code text,
  expires_at timestamptz,
  consumed_at timestamptz,
  primary key (model, id)
);
create index oidc_record_account on oidc_record (((payload ->> 'accountId')));
create index oidc_record_expiry on oidc_record (expires_at);
create index oidc_record_grant on oidc_record (grant_id) where grant_id is not null;
create index oidc_record_uid on oidc_record (model, uid) where uid is not null;

-- Keys of the OpenID Connect provider: in each row one for ID tokens and one for cookies.
create table provider_key (
  id uuid primary key default gen_random_uuid(),
  sealed bytea not null,
  created_at timestamptz not null default now(),
  trusted_until timestamptz
);

-- ==================== Console: operators and developers ====================

-- Accounts of operators and developers. The password of `admin` is the setting ADMIN_PASSWORD; everybody else was invited by
-- mail.
create table console_account (
  id uuid primary key default gen_random_uuid(),
  sign_in_name text collate "C" not null unique check (sign_in_name = lower(sign_in_name)),
  name text not null,
  email text,
  role text not null check (role in ('admin', 'viewer', 'developer')),
  password_hash text,
  sealed_totp bytea,
  -- The last time step whose code was accepted; no code is accepted twice.
  totp_step bigint,
  -- Hashes of unused recovery codes.
  recovery_hashes bytea[] not null default '{}',
  wrong_tries int not null default 0,
  locked_until timestamptz,
  last_signed_in timestamptz,
  created_at timestamptz not null default now(),
  created_by text not null
);

-- Which applications a developer may see.
create table console_developer (
  account uuid not null references console_account on delete cascade,
  rp text collate "C" not null references application on delete cascade,
  added_at timestamptz not null default now(),
  added_by text not null,
  primary key (account, rp)
);
create index console_developer_rp on console_developer (rp);

-- Invitations and password links, as hashes.
create table console_link (
  hash bytea primary key,
  account uuid not null references console_account on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index console_link_account on console_link (account);

-- Sessions. proven: whether the second factor was shown or none is needed.
create table console_session (
  hash bytea primary key,
  account uuid not null references console_account on delete cascade,
  proven boolean not null,
  address text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index console_session_account on console_session (account);

-- Rules for the whole console, such as whether a second factor is required.
create table console_rule (
  name text primary key check (name = 'second factor'),
  required boolean not null
);

-- Audit log of operators and commands. A row is written before the action; a row without outcome was interrupted.
create table audit_event (
  number bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  actor text not null,
  via text not null check (via in ('console', 'command line')),
  address text,
  action text not null,
  estab text collate "C",
  rp text collate "C",
  subject text,
  detail jsonb not null default '{}',
  outcome text check (outcome in ('done', 'refused', 'failed')),
  message text,
  ended_at timestamptz
);
create index audit_event_actor on audit_event (actor, number);
create index audit_event_at on audit_event (at);
create index audit_event_estab on audit_event (estab, number) where estab is not null;
create index audit_event_rp on audit_event (rp, number) where rp is not null;

-- ==================== Requests, processes and backups ====================

-- Requests of the last days. rp is empty if the caller is unknown. path: with ids removed.
create table request_line (
  number bigint generated always as identity primary key,
  at timestamptz not null,
  rp text collate "C" not null,
  estab text collate "C",
  method text not null,
  path text not null,
  status int not null,
  ms real not null,
  records int,
  request_id text not null
);
create index request_line_at on request_line (at);
create index request_line_estab on request_line (estab, number) where estab is not null;
create index request_line_refused on request_line (rp, number) where status >= 400;
create index request_line_rp on request_line (rp, number);

-- Requests counted per hour, including those without a row in request_line. rp '*': all applications together. ms: the sum.
create table request_hour (
  hour timestamptz not null,
  rp text collate "C" not null,
  requests int not null,
  refused int not null,
  failed int not null,
  records bigint not null,
  ms float8 not null,
  primary key (hour, rp)
);
create index request_hour_rp on request_hour (rp, hour);

-- Scheduled jobs that run once for all processes, with their last run. last_at is earlier than the run for a job that failed and
-- is due again soon.
create table chore (
  name text primary key,
  last_at timestamptz not null,
  ran_at timestamptz,
  every_ms bigint,
  took_ms bigint,
  trouble text,
  by text
);

-- Versions of the service that this database has had.
create table service_version (
  version text primary key,
  first_started timestamptz not null default now(),
  by text not null
);

-- Processes that use this database. seen_at: when the process last reported. Connections do not show whether it is alive, because an idle
-- process has none. migration: the newest migration that its version knows.
create table service_process (
  tag text primary key,
  version text not null,
  role text not null,
  host text not null,
  migration int not null,
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now()
);

-- The plan for recurring backups, at most one.
create table backup_plan (
  single boolean primary key default true check (single),
  -- Also written into the folder, so that another folder of the same name is not mistaken for it.
  id uuid not null,
  folder text not null,
  every_seconds int not null check (every_seconds > 0),
  keep int not null check (keep > 0),
  sealed_passphrase bytea not null,
  -- The database that the plan was made for. A restored copy does not write into its folder.
  database text not null,
  since timestamptz not null,
  by text not null,
  -- When somebody last asked for a backup outside the plan.
  asked_at timestamptz,
  -- When a worker last reached the folder.
  seen_at timestamptz
);

-- Backups of the plan. A backup is good once it was restored elsewhere and compared.
create table backup_run (
  number int generated always as identity primary key,
  plan uuid not null,
  why text not null check (why in ('plan', 'asked', 'upgrade')),
  file text not null,
  host text not null,
  state text not null default 'writing' check (state in ('writing', 'written', 'good', 'failed', 'cut off')),
  started_at timestamptz not null,
  ended_at timestamptz,
  verified_at timestamptz,
  version text,
  migration int,
  bytes bigint,
  rows bigint,
  took_ms int,
  trouble text,
  -- When its file was removed or found missing.
  gone_at timestamptz
);
create index backup_run_plan on backup_run (plan, number);
