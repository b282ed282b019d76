-- Generated from the migrations by "npm run generate"; compared in the tests. Change the schema by a new migration.

create collation roster_fold (provider = builtin, locale = 'PG_UNICODE_FAST');

CREATE OR REPLACE FUNCTION public.commits_pending()
 RETURNS text[]
 LANGUAGE sql
AS $function$
  select coalesce(array_agg(gid), '{}') from pg_prepared_xacts where database = current_database()
$function$;

CREATE OR REPLACE FUNCTION public.gather_statistics(of text)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  if to_regclass(of) is null then return false; end if;
  execute format('analyze %s', of::regclass);
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION public.known_statistics(of text, OUT rows double precision, OUT schools double precision)
 RETURNS record
 LANGUAGE sql
AS $function$
  select c.reltuples::float8, s.n_distinct::float8
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
    left join pg_stats s on s.schemaname = n.nspname and s.tablename = c.relname and s.attname = 'estab'
  where c.oid = to_regclass(of)
$function$;

CREATE OR REPLACE FUNCTION public.presence_id(estab text, sourced_id text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
  select 'p-' || encode(substr(sha256(convert_to(estab || chr(31) || sourced_id, 'UTF8')), 1, 12), 'hex')
$function$;

CREATE OR REPLACE FUNCTION public.roster_encode(id text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
  select string_agg(case when c ~ '[A-Za-z0-9_.!~*''()-]' then c else regexp_replace(upper(encode(convert_to(c, 'UTF8'), 'hex')), '(..)', '%\1', 'g') end, '' order by n)
  from regexp_split_to_table(id, '') with ordinality as split (c, n)
$function$;

CREATE OR REPLACE FUNCTION public.roster_head(estab text, sourced_id text, status text, version integer)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
  select '{"sourcedId":"' || replace(replace(sourced_id, '\', '\\'), '"', '\"') || '","status":"' || status || '","dateLastModified":"' || chr(2) || estab || ' ' || version::text || chr(2) || '"'
$function$;

CREATE OR REPLACE FUNCTION public.roster_letters(words text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (octet_length(words) = char_length(words)) THEN lower(("left"(words, 60) COLLATE "C")) ELSE (lower((regexp_replace(NORMALIZE("left"(words, 60), NFD), '[\u0300-\u036f]'::text, ''::text, 'g'::text) COLLATE roster_fold)) COLLATE "C") END;

create table application (
  rp text collate "C" not null,
  name text not null,
  callback_url text not null,
  redirect_uris text[] default '{}'::text[] not null,
  required_scopes text[] not null,
  optional_scopes text[] not null,
  client_id text collate "C" not null,
  created_at timestamp with time zone default now() not null,
  website text,
  privacy_notice text,
  contact text,
  callback_changed_from text,
  callback_changed_by text,
  callback_changed_at timestamp with time zone,
  confirmed_callback_host text,
  state_events boolean default false not null,
  demo boolean default false not null,
  constraint application_pkey PRIMARY KEY (rp),
  constraint application_client_id_key UNIQUE (client_id),
  constraint application_rp_check CHECK ((rp ~ '^[A-Za-z0-9._-]{1,64}$'::text))
);

create table application_secret (
  id uuid default gen_random_uuid() not null,
  rp text collate "C" not null,
  kind text not null,
  hash bytea not null,
  sealed bytea,
  created_at timestamp with time zone default now() not null,
  valid_until timestamp with time zone,
  constraint application_secret_pkey PRIMARY KEY (id),
  constraint application_secret_kind_check CHECK ((kind = ANY (ARRAY['client'::text, 'management'::text, 'signing'::text]))),
  constraint application_secret_rp_fkey FOREIGN KEY (rp) REFERENCES application(rp) ON DELETE CASCADE
);
CREATE INDEX application_secret_rp ON public.application_secret USING btree (rp, kind);

create table attendance_history (
  estab text collate "C" not null,
  date date not null,
  session text not null,
  student_id text collate "C" not null,
  version integer not null,
  at timestamp with time zone default clock_timestamp() not null,
  rp text collate "C",
  tracking_id uuid,
  reason text,
  mark text,
  minutes_late integer,
  notes text,
  previous_mark text,
  previous_minutes_late integer,
  previous_notes text,
  constraint attendance_history_pkey PRIMARY KEY (estab, date, student_id, session, version),
  constraint attendance_history_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE
);
CREATE INDEX attendance_history_at ON public.attendance_history USING btree (at);
CREATE INDEX attendance_history_tracking ON public.attendance_history USING btree (estab, tracking_id) WHERE (tracking_id IS NOT NULL);

create table attendance_mark (
  estab text collate "C" not null,
  date date not null,
  session text not null,
  student_id text collate "C" not null,
  mark text,
  minutes_late integer,
  notes text,
  version integer not null,
  constraint attendance_mark_pkey PRIMARY KEY (estab, date, student_id, session),
  constraint attendance_mark_session_check CHECK ((session = ANY (ARRAY['AM'::text, 'PM'::text]))),
  constraint attendance_mark_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE
);
CREATE INDEX attendance_mark_version ON public.attendance_mark USING btree (estab, version);

create table attendance_version (
  estab text collate "C" not null,
  version integer not null,
  instant timestamp with time zone not null,
  constraint attendance_version_pkey PRIMARY KEY (estab, version),
  constraint attendance_version_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE
);

create table audit_event (
  number bigint generated always as identity not null,
  at timestamp with time zone default clock_timestamp() not null,
  actor text not null,
  via text not null,
  address text,
  action text not null,
  estab text collate "C",
  rp text collate "C",
  subject text,
  detail jsonb default '{}'::jsonb not null,
  outcome text,
  message text,
  ended_at timestamp with time zone,
  constraint audit_event_pkey PRIMARY KEY (number),
  constraint audit_event_outcome_check CHECK ((outcome = ANY (ARRAY['done'::text, 'refused'::text, 'failed'::text]))),
  constraint audit_event_via_check CHECK ((via = ANY (ARRAY['console'::text, 'command line'::text])))
);
CREATE INDEX audit_event_actor ON public.audit_event USING btree (actor, number);
CREATE INDEX audit_event_at ON public.audit_event USING btree (at);
CREATE INDEX audit_event_estab ON public.audit_event USING btree (estab, number) WHERE (estab IS NOT NULL);
CREATE INDEX audit_event_rp ON public.audit_event USING btree (rp, number) WHERE (rp IS NOT NULL);

create table authorisation (
  estab text collate "C" not null,
  rp text collate "C" not null,
  scopes text[] not null,
  state text not null,
  created_at timestamp with time zone default now() not null,
  changed_at timestamp with time zone default now() not null,
  installed_at timestamp with time zone,
  announced_secret uuid,
  constraint authorisation_pkey PRIMARY KEY (estab, rp),
  constraint authorisation_state_check CHECK ((state = ANY (ARRAY['Approved'::text, 'Paused'::text, 'Revoked'::text]))),
  constraint authorisation_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE,
  constraint authorisation_rp_fkey FOREIGN KEY (rp) REFERENCES application(rp) ON DELETE CASCADE
);
CREATE INDEX authorisation_rp ON public.authorisation USING btree (rp);

create table authorisation_event (
  estab text collate "C" not null,
  rp text collate "C" not null,
  number bigint generated always as identity not null,
  at timestamp with time zone default clock_timestamp() not null,
  state text not null,
  actor text not null,
  scopes text[],
  constraint authorisation_event_pkey PRIMARY KEY (estab, rp, number),
  constraint authorisation_event_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE,
  constraint authorisation_event_rp_fkey FOREIGN KEY (rp) REFERENCES application(rp) ON DELETE CASCADE
);

create table availability_wait (
  estab text collate "C" not null,
  id uuid default gen_random_uuid() not null,
  rp text collate "C" not null,
  endpoint text not null,
  databases text[] not null,
  callback_url text not null,
  requested_at timestamp with time zone default now() not null,
  deadline_at timestamp with time zone not null,
  next_check_at timestamp with time zone not null,
  checks integer default 0 not null,
  done_at timestamp with time zone,
  constraint availability_wait_pkey PRIMARY KEY (estab, id),
  constraint availability_wait_estab_rp_fkey FOREIGN KEY (estab, rp) REFERENCES authorisation(estab, rp) ON DELETE CASCADE
);
CREATE INDEX availability_wait_done ON public.availability_wait USING btree (done_at) WHERE (done_at IS NOT NULL);
CREATE INDEX availability_wait_open ON public.availability_wait USING btree (next_check_at) WHERE (done_at IS NULL);
CREATE INDEX availability_wait_rp ON public.availability_wait USING btree (rp) WHERE (done_at IS NULL);

create table backup_plan (
  single boolean default true not null,
  id uuid not null,
  folder text not null,
  every_seconds integer not null,
  keep integer not null,
  sealed_passphrase bytea not null,
  database text not null,
  since timestamp with time zone not null,
  by text not null,
  asked_at timestamp with time zone,
  seen_at timestamp with time zone,
  constraint backup_plan_pkey PRIMARY KEY (single),
  constraint backup_plan_every_seconds_check CHECK ((every_seconds > 0)),
  constraint backup_plan_keep_check CHECK ((keep > 0)),
  constraint backup_plan_single_check CHECK (single)
);

create table backup_run (
  number integer generated always as identity not null,
  plan uuid not null,
  why text not null,
  file text not null,
  host text not null,
  state text default 'writing'::text not null,
  started_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  verified_at timestamp with time zone,
  version text,
  migration integer,
  bytes bigint,
  rows bigint,
  took_ms integer,
  trouble text,
  gone_at timestamp with time zone,
  constraint backup_run_pkey PRIMARY KEY (number),
  constraint backup_run_state_check CHECK ((state = ANY (ARRAY['writing'::text, 'written'::text, 'good'::text, 'failed'::text, 'cut off'::text]))),
  constraint backup_run_why_check CHECK ((why = ANY (ARRAY['plan'::text, 'asked'::text, 'upgrade'::text])))
);
CREATE INDEX backup_run_plan ON public.backup_run USING btree (plan, number);

create table chore (
  name text not null,
  last_at timestamp with time zone not null,
  ran_at timestamp with time zone,
  every_ms bigint,
  took_ms bigint,
  trouble text,
  by text,
  constraint chore_pkey PRIMARY KEY (name)
);

create table component_database (
  estab text collate "C" not null,
  name text not null,
  status text default 'NoData'::text not null,
  message text,
  row_count integer default 0 not null,
  updated_at timestamp with time zone,
  changed_at timestamp with time zone,
  expires_at timestamp with time zone,
  refresh_at timestamp with time zone,
  refreshing_since timestamp with time zone,
  progress real,
  failing_since timestamp with time zone,
  told text,
  told_at timestamp with time zone,
  constraint component_database_pkey PRIMARY KEY (estab, name),
  constraint component_database_name_check CHECK ((name = ANY (ARRAY['SchoolData'::text, 'Attendance'::text]))),
  constraint component_database_status_check CHECK ((status = ANY (ARRAY['NoData'::text, 'OK'::text, 'Error'::text, 'Timeout'::text, 'Paused'::text]))),
  constraint component_database_told_check CHECK ((told = ANY (ARRAY['held'::text, 'refused'::text, 'failing'::text]))),
  constraint component_database_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE
);
CREATE INDEX component_database_refresh ON public.component_database USING btree (refresh_at) WHERE (refresh_at IS NOT NULL);

create table connector_setting (
  estab text collate "C" not null,
  settings jsonb default '{}'::jsonb not null,
  sealed_credentials bytea,
  state jsonb default '{}'::jsonb not null,
  constraint connector_setting_pkey PRIMARY KEY (estab),
  constraint connector_setting_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE
);

create table console_account (
  id uuid default gen_random_uuid() not null,
  sign_in_name text collate "C" not null,
  name text not null,
  email text,
  role text not null,
  password_hash text,
  sealed_totp bytea,
  totp_step bigint,
  recovery_hashes bytea[] default '{}'::bytea[] not null,
  wrong_tries integer default 0 not null,
  locked_until timestamp with time zone,
  last_signed_in timestamp with time zone,
  created_at timestamp with time zone default now() not null,
  created_by text not null,
  constraint console_account_pkey PRIMARY KEY (id),
  constraint console_account_sign_in_name_key UNIQUE (sign_in_name),
  constraint console_account_role_check CHECK ((role = ANY (ARRAY['admin'::text, 'viewer'::text, 'developer'::text]))),
  constraint console_account_sign_in_name_check CHECK ((sign_in_name = lower(sign_in_name)))
);

create table console_developer (
  account uuid not null,
  rp text collate "C" not null,
  added_at timestamp with time zone default now() not null,
  added_by text not null,
  constraint console_developer_pkey PRIMARY KEY (account, rp),
  constraint console_developer_account_fkey FOREIGN KEY (account) REFERENCES console_account(id) ON DELETE CASCADE,
  constraint console_developer_rp_fkey FOREIGN KEY (rp) REFERENCES application(rp) ON DELETE CASCADE
);
CREATE INDEX console_developer_rp ON public.console_developer USING btree (rp);

create table console_link (
  hash bytea not null,
  account uuid not null,
  created_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone not null,
  constraint console_link_pkey PRIMARY KEY (hash),
  constraint console_link_account_fkey FOREIGN KEY (account) REFERENCES console_account(id) ON DELETE CASCADE
);
CREATE INDEX console_link_account ON public.console_link USING btree (account);

create table console_rule (
  name text not null,
  required boolean not null,
  constraint console_rule_pkey PRIMARY KEY (name),
  constraint console_rule_name_check CHECK ((name = 'second factor'::text))
);

create table console_session (
  hash bytea not null,
  account uuid not null,
  proven boolean not null,
  address text not null,
  created_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone not null,
  constraint console_session_pkey PRIMARY KEY (hash),
  constraint console_session_account_fkey FOREIGN KEY (account) REFERENCES console_account(id) ON DELETE CASCADE
);
CREATE INDEX console_session_account ON public.console_session USING btree (account);

create table delivery_hour (
  hour timestamp with time zone not null,
  rp text collate "C" not null,
  delivered integer not null,
  failed integer not null,
  tries integer not null,
  failed_tries integer not null,
  constraint delivery_hour_pkey PRIMARY KEY (hour, rp)
);
CREATE INDEX delivery_hour_rp ON public.delivery_hour USING btree (rp, hour);

create table demo_mark (
  estab text collate "C" not null,
  date date not null,
  session text not null,
  student_id text collate "C" not null,
  mark text,
  minutes_late integer,
  notes text,
  constraint demo_mark_pkey PRIMARY KEY (estab, date, student_id, session),
  constraint demo_mark_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE
);
CREATE INDEX demo_mark_date ON public.demo_mark USING btree (date);

create table demo_write (
  estab text collate "C" not null,
  tracking_id uuid not null,
  answer jsonb not null,
  written_at timestamp with time zone default now() not null,
  constraint demo_write_pkey PRIMARY KEY (estab, tracking_id),
  constraint demo_write_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE
);
CREATE INDEX demo_write_age ON public.demo_write USING btree (written_at);

create table disclosure (
  estab text collate "C" not null,
  rp text collate "C" not null,
  day date not null,
  collection text not null,
  requests integer not null,
  records bigint not null,
  fields text[] not null,
  constraint disclosure_pkey PRIMARY KEY (estab, rp, day, collection),
  constraint disclosure_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE
);
CREATE INDEX disclosure_day ON public.disclosure USING btree (day);

create table erasure (
  number bigint generated always as identity not null,
  at timestamp with time zone default now() not null,
  what text not null,
  counts jsonb not null,
  constraint erasure_pkey PRIMARY KEY (number)
);
CREATE INDEX erasure_at ON public.erasure USING btree (at);

create table establishment (
  estab text collate "C" not null,
  name text not null,
  email text not null,
  time_zone text default 'Europe/London'::text not null,
  connector text,
  created_at timestamp with time zone default now() not null,
  confirmed_at timestamp with time zone default now(),
  constraint establishment_pkey PRIMARY KEY (estab),
  constraint establishment_connector_check CHECK ((connector = ANY (ARRAY['csv'::text, 'oneroster'::text, 'demo'::text]))),
  constraint establishment_estab_check CHECK ((estab ~ '^[A-Za-z0-9._-]{1,32}$'::text))
);
CREATE INDEX establishment_letters ON public.establishment USING btree (regexp_replace(lower(name), '[^[:alnum:]]+'::text, ''::text, 'g'::text) text_pattern_ops) WHERE (confirmed_at IS NOT NULL);

create table identity_audit (
  estab text collate "C" not null,
  number bigint generated always as identity not null,
  at timestamp with time zone default now() not null,
  rp text collate "C",
  operation text not null,
  presence_id text collate "C",
  outcome text not null,
  constraint identity_audit_pkey PRIMARY KEY (estab, number)
);
CREATE INDEX identity_audit_at ON public.identity_audit USING btree (at);
CREATE INDEX identity_audit_mail ON public.identity_audit USING btree (estab, at) WHERE ((operation = ANY (ARRAY['CreateLogin'::text, 'CreateUser'::text])) AND (outcome = 'done'::text));

create table import_end (
  estab text collate "C" not null,
  id uuid not null,
  started_at timestamp with time zone not null,
  finished_at timestamp with time zone not null,
  outcome text not null,
  constraint import_end_pkey PRIMARY KEY (estab, id),
  constraint import_end_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE
);
CREATE INDEX import_end_finished ON public.import_end USING btree (finished_at);
CREATE INDEX import_end_started ON public.import_end USING btree (estab, started_at);

create table import_fault (
  estab text collate "C" not null,
  import uuid not null,
  number integer not null,
  file text not null,
  line integer,
  column_name text,
  value text,
  rule text not null,
  dependants integer default 0 not null,
  constraint import_fault_pkey PRIMARY KEY (estab, import, number),
  constraint import_fault_estab_import_fkey FOREIGN KEY (estab, import) REFERENCES import_run(estab, id) ON DELETE CASCADE
);

create table import_loss (
  estab text collate "C" not null,
  import uuid not null,
  collection text not null,
  sourced_id text collate "C" not null,
  role text,
  name text,
  loses text[],
  constraint import_loss_pkey PRIMARY KEY (estab, import, collection, sourced_id),
  constraint import_loss_estab_import_fkey FOREIGN KEY (estab, import) REFERENCES import_run(estab, id) ON DELETE CASCADE
);

create table import_run (
  estab text collate "C" not null,
  id uuid default gen_random_uuid() not null,
  started_at timestamp with time zone not null,
  finished_at timestamp with time zone default clock_timestamp() not null,
  outcome text not null,
  version integer not null,
  report jsonb not null,
  reading integer,
  provider text,
  kind text not null,
  partial boolean default false not null,
  decision text,
  decided_at timestamp with time zone,
  constraint import_run_pkey PRIMARY KEY (estab, id),
  constraint import_run_decision_check CHECK ((decision = ANY (ARRAY['approved'::text, 'discarded'::text, 'replaced'::text]))),
  constraint import_run_outcome_check CHECK ((outcome = ANY (ARRAY['done'::text, 'unchanged'::text, 'held'::text, 'refused'::text]))),
  constraint import_run_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE
);
CREATE INDEX import_run_ended ON public.import_run USING btree (estab, finished_at DESC, id);
CREATE INDEX import_run_finished ON public.import_run USING btree (finished_at);
CREATE INDEX import_run_held ON public.import_run USING btree (estab, finished_at) WHERE (outcome = 'held'::text);
CREATE INDEX import_run_when ON public.import_run USING btree (estab, started_at);

create table inbox (
  id uuid default gen_random_uuid() not null,
  rp text not null,
  name text not null,
  key text not null,
  sealed_key bytea not null,
  answer text default '200'::text not null,
  minute timestamp with time zone default '-infinity'::timestamp with time zone not null,
  minute_calls integer default 0 not null,
  created_at timestamp with time zone default now() not null,
  constraint inbox_pkey PRIMARY KEY (id),
  constraint inbox_key_key UNIQUE (key),
  constraint inbox_rp_name_key UNIQUE (rp, name),
  constraint inbox_answer_check CHECK ((answer = ANY (ARRAY['200'::text, '500'::text, '410'::text, 'slow'::text, 'never'::text]))),
  constraint inbox_rp_fkey FOREIGN KEY (rp) REFERENCES application(rp) ON DELETE CASCADE
);

create table inbox_call (
  inbox uuid not null,
  seq bigint generated always as identity not null,
  received_at timestamp with time zone default clock_timestamp() not null,
  method text not null,
  webhook_id text,
  verdict text not null,
  answer text not null,
  address text,
  bytes integer not null,
  head bytea not null,
  body bytea not null,
  constraint inbox_call_pkey PRIMARY KEY (inbox, seq),
  constraint inbox_call_inbox_fkey FOREIGN KEY (inbox) REFERENCES inbox(id) ON DELETE CASCADE
);
CREATE INDEX inbox_call_received ON public.inbox_call USING btree (received_at);

create table invitation (
  estab text collate "C" not null,
  id uuid default gen_random_uuid() not null,
  rp text collate "C" not null,
  state text not null,
  required_scopes text[] not null,
  optional_scopes text[] not null,
  school_name text not null,
  contact_email text not null,
  reason text,
  invited_by text not null,
  created_at timestamp with time zone default now() not null,
  invited_at timestamp with time zone,
  expires_at timestamp with time zone,
  decided_at timestamp with time zone,
  decided_by text,
  constraint invitation_pkey PRIMARY KEY (estab, id),
  constraint invitation_invited_by_check CHECK ((invited_by = ANY (ARRAY['application'::text, 'operator'::text]))),
  constraint invitation_state_check CHECK ((state = ANY (ARRAY['Proposed'::text, 'Invited'::text, 'Approved'::text, 'Declined'::text, 'Expired'::text, 'Withdrawn'::text]))),
  constraint invitation_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE,
  constraint invitation_rp_fkey FOREIGN KEY (rp) REFERENCES application(rp) ON DELETE CASCADE
);
CREATE INDEX invitation_expired ON public.invitation USING btree (decided_at) WHERE (state = 'Expired'::text);
CREATE INDEX invitation_expiring ON public.invitation USING btree (expires_at) WHERE (state = 'Invited'::text);
CREATE INDEX invitation_proposed ON public.invitation USING btree (created_at) WHERE (state = 'Proposed'::text);
CREATE INDEX invitation_rp ON public.invitation USING btree (rp);
CREATE UNIQUE INDEX invitation_open ON public.invitation USING btree (estab, rp) WHERE (state = ANY (ARRAY['Proposed'::text, 'Invited'::text]));

create table lane (
  key text collate "C" not null,
  host text,
  width integer not null,
  lasting boolean not null,
  next_at timestamp with time zone,
  failures integer default 0 not null,
  failing_since timestamp with time zone,
  open_until timestamp with time zone,
  openings integer default 0 not null,
  warned_at timestamp with time zone,
  disabled_at timestamp with time zone,
  disabled_why text,
  epoch integer default 0 not null,
  woken_at timestamp with time zone,
  failing_told_at timestamp with time zone,
  disabled_told_at timestamp with time zone,
  paused_at timestamp with time zone,
  paused_by text,
  constraint lane_pkey PRIMARY KEY (key),
  constraint lane_width_check CHECK ((width > 0))
);
CREATE INDEX lane_host ON public.lane USING btree (host) WHERE (host IS NOT NULL);
CREATE INDEX lane_next ON public.lane USING btree (next_at) WHERE (next_at IS NOT NULL);
CREATE INDEX lane_trouble ON public.lane USING btree (key) WHERE ((failing_since IS NOT NULL) OR (disabled_at IS NOT NULL) OR (paused_at IS NOT NULL));

create table login (
  estab text collate "C" not null,
  presence_id text collate "C" not null,
  username text not null,
  password_hash text,
  change_at_next_login boolean default false not null,
  wrong_tries integer default 0 not null,
  locked_until timestamp with time zone,
  last_logged_in timestamp with time zone,
  created_at timestamp with time zone default now() not null,
  registered_at timestamp with time zone,
  verified_email text,
  constraint login_pkey PRIMARY KEY (estab, presence_id),
  constraint login_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE
);
CREATE UNIQUE INDEX login_username ON public.login USING btree (estab, lower(username));

create table login_session (
  estab text collate "C" not null,
  hash bytea not null,
  presence_id text collate "C" not null,
  created_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone not null,
  constraint login_session_pkey PRIMARY KEY (estab, hash),
  constraint login_session_estab_presence_id_fkey FOREIGN KEY (estab, presence_id) REFERENCES login(estab, presence_id) ON DELETE CASCADE
);
CREATE INDEX login_session_login ON public.login_session USING btree (estab, presence_id);

create table manual_user (
  estab text collate "C" not null,
  presence_id text collate "C" not null,
  title text not null,
  first_name text not null,
  last_name text not null,
  display_name text not null,
  email text not null,
  mobile text not null,
  rp text collate "C",
  created_at timestamp with time zone default now() not null,
  constraint manual_user_pkey PRIMARY KEY (estab, presence_id),
  constraint manual_user_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE
);
CREATE UNIQUE INDEX manual_user_email ON public.manual_user USING btree (estab, lower(email));

create table migration (
  version integer not null,
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone default now() not null,
  breaks_before integer,
  constraint migration_pkey PRIMARY KEY (version)
);

create table oidc_record (
  model text not null,
  id text not null,
  payload jsonb not null,
  grant_id text,
  uid text,
  user_code text,
  expires_at timestamp with time zone,
  consumed_at timestamp with time zone,
  constraint oidc_record_pkey PRIMARY KEY (model, id)
);
CREATE INDEX oidc_record_account ON public.oidc_record USING btree (((payload ->> 'accountId'::text)));
CREATE INDEX oidc_record_expiry ON public.oidc_record USING btree (expires_at);
CREATE INDEX oidc_record_grant ON public.oidc_record USING btree (grant_id) WHERE (grant_id IS NOT NULL);
CREATE INDEX oidc_record_uid ON public.oidc_record USING btree (model, uid) WHERE (uid IS NOT NULL);

create table outbox (
  estab text collate "C" not null,
  id text collate "C" not null,
  rp text collate "C",
  kind text not null,
  lane text collate "C" not null,
  topic text,
  payload jsonb not null,
  body bytea,
  state text default 'waiting'::text not null,
  attempts integer default 0 not null,
  forgiven integer default 0 not null,
  due_at timestamp with time zone not null,
  claim uuid,
  lease_until timestamp with time zone,
  created_at timestamp with time zone default clock_timestamp() not null,
  settled_at timestamp with time zone,
  seq bigint generated always as identity not null,
  waits_for text,
  claimed_at timestamp with time zone,
  claimed_by text,
  session_pid integer,
  session_started_at timestamp with time zone,
  session_server_started_at timestamp with time zone,
  constraint outbox_pkey PRIMARY KEY (estab, id),
  constraint outbox_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'running'::text, 'done'::text, 'failed'::text, 'superseded'::text, 'cancelled'::text]))),
  constraint outbox_lane_fkey FOREIGN KEY (lane) REFERENCES lane(key)
);
CREATE INDEX outbox_calls ON public.outbox USING btree (rp, state, (created_at AT TIME ZONE 'UTC'::text), id) WHERE (kind = 'call'::text);
CREATE INDEX outbox_created ON public.outbox USING btree (created_at);
CREATE INDEX outbox_failed_mails ON public.outbox USING btree (settled_at) WHERE ((kind = 'mail'::text) AND (state = 'failed'::text));
CREATE INDEX outbox_id ON public.outbox USING btree (id);
CREATE INDEX outbox_lane ON public.outbox USING btree (lane);
CREATE INDEX outbox_lease ON public.outbox USING btree (lease_until) WHERE (state = 'running'::text);
CREATE INDEX outbox_newer ON public.outbox USING btree (estab, topic, seq) WHERE (topic IS NOT NULL);
CREATE INDEX outbox_pair ON public.outbox USING btree (estab, rp);
CREATE INDEX outbox_running ON public.outbox USING btree (lane) WHERE (state = 'running'::text);
CREATE INDEX outbox_school_calls ON public.outbox USING btree (estab, rp, state, (created_at AT TIME ZONE 'UTC'::text), id) WHERE (kind = 'call'::text);
CREATE INDEX outbox_school_work ON public.outbox USING btree (estab, created_at, id) WHERE (kind <> 'call'::text);
CREATE INDEX outbox_settled ON public.outbox USING btree (settled_at) WHERE (settled_at IS NOT NULL);
CREATE INDEX outbox_waiting ON public.outbox USING btree (lane, due_at) WHERE (state = 'waiting'::text);
CREATE INDEX outbox_work ON public.outbox USING btree (kind, state, created_at, id) WHERE (kind <> 'call'::text);
CREATE UNIQUE INDEX outbox_topic ON public.outbox USING btree (estab, topic) WHERE ((state = 'waiting'::text) AND (attempts = 0));

create table outbox_attempt (
  estab text collate "C" not null,
  id text collate "C" not null,
  number integer not null,
  at timestamp with time zone default now() not null,
  success boolean not null,
  error_class text,
  detail jsonb not null,
  response bytea,
  next_at timestamp with time zone,
  constraint outbox_attempt_pkey PRIMARY KEY (estab, id, number),
  constraint outbox_attempt_estab_id_fkey FOREIGN KEY (estab, id) REFERENCES outbox(estab, id) ON DELETE CASCADE
);
CREATE INDEX outbox_attempt_at ON public.outbox_attempt USING btree (at);

create table outbox_tally (
  since timestamp with time zone not null,
  settled jsonb not null,
  attempts jsonb not null,
  constraint outbox_tally_pkey PRIMARY KEY (since)
);

create table past_decision (
  estab text collate "C" not null,
  rp text collate "C" not null,
  application text not null,
  number bigint not null,
  at timestamp with time zone not null,
  state text not null,
  actor text not null,
  scopes text[],
  constraint past_decision_pkey PRIMARY KEY (estab, rp, number),
  constraint past_decision_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE
);

create table provider_key (
  id uuid default gen_random_uuid() not null,
  sealed bytea not null,
  created_at timestamp with time zone default now() not null,
  trusted_until timestamp with time zone,
  constraint provider_key_pkey PRIMARY KEY (id)
);

create table reading (
  estab text collate "C" not null,
  started integer default 0 not null,
  roster_merged integer default 0 not null,
  marks_merged integer default 0 not null,
  taken jsonb,
  constraint reading_pkey PRIMARY KEY (estab),
  constraint reading_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE
);

create table registration_link (
  estab text collate "C" not null,
  hash bytea not null,
  presence_id text collate "C" not null,
  expires_at timestamp with time zone not null,
  invitation uuid,
  email text,
  constraint registration_link_pkey PRIMARY KEY (estab, hash),
  constraint registration_link_estab_presence_id_fkey FOREIGN KEY (estab, presence_id) REFERENCES login(estab, presence_id) ON DELETE CASCADE
);
CREATE INDEX registration_link_login ON public.registration_link USING btree (estab, presence_id);

create unlogged table request_count (
  credential text not null,
  minute timestamp with time zone not null,
  count integer not null,
  constraint request_count_pkey PRIMARY KEY (credential, minute)
);

create table request_hour (
  hour timestamp with time zone not null,
  rp text collate "C" not null,
  requests integer not null,
  refused integer not null,
  failed integer not null,
  records bigint not null,
  ms double precision not null,
  constraint request_hour_pkey PRIMARY KEY (hour, rp)
);
CREATE INDEX request_hour_rp ON public.request_hour USING btree (rp, hour);

create table request_line (
  number bigint generated always as identity not null,
  at timestamp with time zone not null,
  rp text collate "C" not null,
  estab text collate "C",
  method text not null,
  path text not null,
  status integer not null,
  ms real not null,
  records integer,
  request_id text not null,
  constraint request_line_pkey PRIMARY KEY (number)
);
CREATE INDEX request_line_at ON public.request_line USING btree (at);
CREATE INDEX request_line_estab ON public.request_line USING btree (estab, number) WHERE (estab IS NOT NULL);
CREATE INDEX request_line_refused ON public.request_line USING btree (rp, number) WHERE (status >= 400);
CREATE INDEX request_line_rp ON public.request_line USING btree (rp, number);

create table roster (
  estab text collate "C" not null,
  id uuid default gen_random_uuid() not null,
  version integer default 0 not null,
  purge_version integer,
  purge_ripe integer,
  history_from integer default 0 not null,
  history_to integer default 0 not null,
  purged_at timestamp with time zone,
  kept_from integer generated always as (
CASE
    WHEN (history_to = version) THEN history_from
    ELSE version
END) stored,
  constraint roster_pkey PRIMARY KEY (estab),
  constraint roster_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE
);

create table roster_academic_session (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text not null,
  status text not null,
  version integer not null,
  title text collate "C" not null,
  start_date date not null,
  end_date date not null,
  type text collate "C" not null,
  parent_id text collate "C",
  child_ids text[] collate "C",
  school_year text collate "C" not null,
  metadata jsonb,
  head text generated always as (roster_head(estab, sourced_id, status, version)) stored not null,
  record text not null,
  late text default ''::text not null,
  place integer,
  v1p2 text,
  shared integer,
  constraint roster_academic_session_pkey PRIMARY KEY (estab, sourced_id)
);
CREATE INDEX roster_academic_session_gone ON public.roster_academic_session USING btree (estab, version) WHERE (status = 'tobedeleted'::text);
CREATE INDEX roster_academic_session_parent ON public.roster_academic_session USING btree (estab, parent_id);
CREATE INDEX roster_academic_session_version ON public.roster_academic_session USING btree (estab, version);

create table roster_academic_session_history (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text not null,
  status text not null,
  version integer not null,
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
  place integer,
  v1p2 text,
  shared integer,
  until_version integer not null,
  purged_at timestamp with time zone,
  constraint roster_academic_session_history_pkey PRIMARY KEY (estab, sourced_id, version),
  constraint roster_academic_session_history_estab_fkey FOREIGN KEY (estab) REFERENCES roster(estab) ON DELETE CASCADE
);
CREATE INDEX roster_academic_session_history_until ON public.roster_academic_session_history USING btree (estab, until_version);

create table roster_class (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text not null,
  status text not null,
  version integer not null,
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
  head text generated always as (roster_head(estab, sourced_id, status, version)) stored not null,
  record text not null,
  late text default ''::text not null,
  place integer,
  v1p2 text,
  shared integer,
  lacks text[] collate "C",
  constraint roster_class_pkey PRIMARY KEY (estab, sourced_id)
);
CREATE INDEX roster_class_course ON public.roster_class USING btree (estab, course_id);
CREATE INDEX roster_class_gone ON public.roster_class USING btree (estab, version) WHERE (status = 'tobedeleted'::text);
CREATE INDEX roster_class_school ON public.roster_class USING btree (estab, school_id);
CREATE INDEX roster_class_version ON public.roster_class USING btree (estab, version);

create table roster_class_history (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text not null,
  status text not null,
  version integer not null,
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
  place integer,
  v1p2 text,
  shared integer,
  lacks text[] collate "C",
  until_version integer not null,
  purged_at timestamp with time zone,
  constraint roster_class_history_pkey PRIMARY KEY (estab, sourced_id, version),
  constraint roster_class_history_estab_fkey FOREIGN KEY (estab) REFERENCES roster(estab) ON DELETE CASCADE
);
CREATE INDEX roster_class_history_until ON public.roster_class_history USING btree (estab, until_version);

create table roster_course (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text not null,
  status text not null,
  version integer not null,
  title text collate "C" not null,
  school_year_id text collate "C",
  course_code text collate "C",
  grades text[] collate "C",
  org_id text collate "C" not null,
  subjects text[] collate "C",
  subject_codes text[] collate "C",
  metadata jsonb,
  head text generated always as (roster_head(estab, sourced_id, status, version)) stored not null,
  record text not null,
  late text default ''::text not null,
  place integer,
  v1p2 text,
  shared integer,
  lacks text[] collate "C",
  constraint roster_course_pkey PRIMARY KEY (estab, sourced_id)
);
CREATE INDEX roster_course_gone ON public.roster_course USING btree (estab, version) WHERE (status = 'tobedeleted'::text);
CREATE INDEX roster_course_version ON public.roster_course USING btree (estab, version);

create table roster_course_history (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text not null,
  status text not null,
  version integer not null,
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
  place integer,
  v1p2 text,
  shared integer,
  lacks text[] collate "C",
  until_version integer not null,
  purged_at timestamp with time zone,
  constraint roster_course_history_pkey PRIMARY KEY (estab, sourced_id, version),
  constraint roster_course_history_estab_fkey FOREIGN KEY (estab) REFERENCES roster(estab) ON DELETE CASCADE
);
CREATE INDEX roster_course_history_until ON public.roster_course_history USING btree (estab, until_version);

create table roster_demographics (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text not null,
  status text not null,
  version integer not null,
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
  head text generated always as (roster_head(estab, sourced_id, status, version)) stored not null,
  record text not null,
  late text default ''::text not null,
  place integer,
  v1p2 text,
  shared integer,
  kinds text[] collate "C",
  constraint roster_demographics_pkey PRIMARY KEY (estab, sourced_id)
);
CREATE INDEX roster_demographics_gone ON public.roster_demographics USING btree (estab, version) WHERE (status = 'tobedeleted'::text);
CREATE INDEX roster_demographics_version ON public.roster_demographics USING btree (estab, version);

create table roster_demographics_history (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text not null,
  status text not null,
  version integer not null,
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
  place integer,
  v1p2 text,
  shared integer,
  kinds text[] collate "C",
  until_version integer not null,
  purged_at timestamp with time zone,
  constraint roster_demographics_history_pkey PRIMARY KEY (estab, sourced_id, version),
  constraint roster_demographics_history_estab_fkey FOREIGN KEY (estab) REFERENCES roster(estab) ON DELETE CASCADE
);
CREATE INDEX roster_demographics_history_until ON public.roster_demographics_history USING btree (estab, until_version);

create table roster_enrollment (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text not null,
  status text not null,
  version integer not null,
  class_id text collate "C" not null,
  school_id text collate "C" not null,
  user_id text collate "C" not null,
  role text collate "C" not null,
  "primary" boolean,
  begin_date date,
  end_date date,
  metadata jsonb,
  head text generated always as (roster_head(estab, sourced_id, status, version)) stored not null,
  record text not null,
  late text default ''::text not null,
  place integer,
  v1p2 text,
  shared integer,
  kinds text[] collate "C",
  constraint roster_enrollment_pkey PRIMARY KEY (estab, sourced_id)
);
CREATE INDEX roster_enrollment_class ON public.roster_enrollment USING btree (estab, class_id);
CREATE INDEX roster_enrollment_gone ON public.roster_enrollment USING btree (estab, version) WHERE (status = 'tobedeleted'::text);
CREATE INDEX roster_enrollment_user ON public.roster_enrollment USING btree (estab, user_id);
CREATE INDEX roster_enrollment_version ON public.roster_enrollment USING btree (estab, version);

create table roster_enrollment_history (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text not null,
  status text not null,
  version integer not null,
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
  place integer,
  v1p2 text,
  shared integer,
  kinds text[] collate "C",
  until_version integer not null,
  purged_at timestamp with time zone,
  constraint roster_enrollment_history_pkey PRIMARY KEY (estab, sourced_id, version),
  constraint roster_enrollment_history_estab_fkey FOREIGN KEY (estab) REFERENCES roster(estab) ON DELETE CASCADE
);
CREATE INDEX roster_enrollment_history_until ON public.roster_enrollment_history USING btree (estab, until_version);

create table roster_milestone (
  estab text collate "C" not null,
  collection text not null,
  sourced_id text collate "C" not null,
  preceding jsonb not null,
  constraint roster_milestone_pkey PRIMARY KEY (estab, collection, sourced_id),
  constraint roster_milestone_estab_fkey FOREIGN KEY (estab) REFERENCES roster(estab) ON DELETE CASCADE
);

create table roster_org (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text not null,
  status text not null,
  version integer not null,
  name text collate "C" not null,
  type text collate "C" not null,
  identifier text collate "C",
  parent_id text collate "C",
  child_ids text[] collate "C",
  metadata jsonb,
  head text generated always as (roster_head(estab, sourced_id, status, version)) stored not null,
  record text not null,
  late text default ''::text not null,
  place integer,
  v1p2 text,
  shared integer,
  constraint roster_org_pkey PRIMARY KEY (estab, sourced_id)
);
CREATE INDEX roster_org_gone ON public.roster_org USING btree (estab, version) WHERE (status = 'tobedeleted'::text);
CREATE INDEX roster_org_parent ON public.roster_org USING btree (estab, parent_id);
CREATE INDEX roster_org_version ON public.roster_org USING btree (estab, version);

create table roster_org_history (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text not null,
  status text not null,
  version integer not null,
  name text collate "C" not null,
  type text collate "C" not null,
  identifier text collate "C",
  parent_id text collate "C",
  child_ids text[] collate "C",
  metadata jsonb,
  head text not null,
  record text not null,
  late text not null,
  place integer,
  v1p2 text,
  shared integer,
  until_version integer not null,
  purged_at timestamp with time zone,
  constraint roster_org_history_pkey PRIMARY KEY (estab, sourced_id, version),
  constraint roster_org_history_estab_fkey FOREIGN KEY (estab) REFERENCES roster(estab) ON DELETE CASCADE
);
CREATE INDEX roster_org_history_until ON public.roster_org_history USING btree (estab, until_version);

create table roster_standing (
  estab text collate "C" not null,
  roster_id uuid not null,
  version integer not null,
  kept_from integer not null,
  instant timestamp with time zone,
  purged_at timestamp with time zone,
  swept_at timestamp with time zone default '-infinity'::timestamp with time zone not null,
  records integer default 0 not null,
  pupils integer default 0 not null,
  constraint roster_standing_pkey PRIMARY KEY (estab),
  constraint roster_standing_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE
);

create table roster_total (
  estab text collate "C" not null,
  collection text not null,
  kind text not null,
  kinds text default ''::text not null,
  status text not null,
  count integer not null,
  constraint roster_total_pkey PRIMARY KEY (estab, collection, kind, kinds, status),
  constraint roster_total_estab_fkey FOREIGN KEY (estab) REFERENCES roster(estab) ON DELETE CASCADE
);

create table roster_touch (
  estab text collate "C" not null,
  what text not null,
  sourced_id text collate "C" not null,
  version integer not null,
  constraint roster_touch_pkey PRIMARY KEY (estab, what, sourced_id),
  constraint roster_touch_estab_fkey FOREIGN KEY (estab) REFERENCES roster(estab) ON DELETE CASCADE
);

create table roster_user (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text not null,
  status text not null,
  version integer not null,
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
  head text generated always as (roster_head(estab, sourced_id, status, version)) stored not null,
  record text not null,
  late text default ''::text not null,
  place integer,
  v1p2 text,
  shared integer,
  lacks text[] collate "C",
  kinds text[] collate "C",
  user_master_identifier text collate "C",
  preferred_first_name text collate "C",
  preferred_middle_name text collate "C",
  preferred_last_name text collate "C",
  pronouns text collate "C",
  primary_org_id text collate "C",
  user_profiles jsonb,
  roles jsonb,
  constraint roster_user_pkey PRIMARY KEY (estab, sourced_id)
);
CREATE INDEX roster_user_agents ON public.roster_user USING gin (agent_ids) WHERE (agent_ids IS NOT NULL);
CREATE INDEX roster_user_gone ON public.roster_user USING btree (estab, version) WHERE (status = 'tobedeleted'::text);
CREATE INDEX roster_user_names ON public.roster_user USING btree (estab, kind, roster_letters(family_name), roster_letters(given_name), sourced_id);
CREATE INDEX roster_user_presence ON public.roster_user USING btree (estab, presence_id(estab, sourced_id));
CREATE INDEX roster_user_version ON public.roster_user USING btree (estab, version);

create table roster_user_history (
  estab text collate "C" not null,
  sourced_id text collate "C" not null,
  kind text not null,
  status text not null,
  version integer not null,
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
  place integer,
  v1p2 text,
  shared integer,
  lacks text[] collate "C",
  kinds text[] collate "C",
  user_master_identifier text collate "C",
  preferred_first_name text collate "C",
  preferred_middle_name text collate "C",
  preferred_last_name text collate "C",
  pronouns text collate "C",
  primary_org_id text collate "C",
  user_profiles jsonb,
  roles jsonb,
  until_version integer not null,
  purged_at timestamp with time zone,
  constraint roster_user_history_pkey PRIMARY KEY (estab, sourced_id, version),
  constraint roster_user_history_estab_fkey FOREIGN KEY (estab) REFERENCES roster(estab) ON DELETE CASCADE
);
CREATE INDEX roster_user_history_until ON public.roster_user_history USING btree (estab, until_version);

create table roster_version (
  estab text collate "C" not null,
  version integer not null,
  instant timestamp with time zone not null,
  stamp text not null,
  import uuid,
  constraint roster_version_pkey PRIMARY KEY (estab, version),
  constraint roster_version_estab_fkey FOREIGN KEY (estab) REFERENCES roster(estab) ON DELETE CASCADE
);

create table roster_version_set (
  name text collate "C" not null,
  versions jsonb not null,
  noted_at timestamp with time zone default now() not null,
  constraint roster_version_set_pkey PRIMARY KEY (name)
);
CREATE INDEX roster_version_set_noted ON public.roster_version_set USING btree (noted_at);

create table sandbox_fault (
  rp text collate "C" not null,
  kind text not null,
  mode text not null,
  seconds integer,
  remaining integer,
  holding text,
  set_at timestamp with time zone default now() not null,
  until timestamp with time zone not null,
  constraint sandbox_fault_pkey PRIMARY KEY (rp, kind),
  constraint sandbox_fault_kind_check CHECK ((kind = ANY (ARRAY['events'::text, 'tokens'::text, 'answers'::text]))),
  constraint sandbox_fault_rp_fkey FOREIGN KEY (rp) REFERENCES application(rp) ON DELETE CASCADE
);
CREATE INDEX sandbox_fault_until ON public.sandbox_fault USING btree (until);

create table school_link (
  estab text collate "C" not null,
  hash bytea not null,
  invitation uuid,
  created_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone not null,
  constraint school_link_pkey PRIMARY KEY (estab, hash),
  constraint school_link_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE
);

create table school_secret (
  estab text collate "C" not null,
  id uuid default gen_random_uuid() not null,
  rp text collate "C" not null,
  hash bytea not null,
  sealed bytea,
  created_at timestamp with time zone default now() not null,
  valid_until timestamp with time zone,
  constraint school_secret_pkey PRIMARY KEY (estab, id),
  constraint school_secret_estab_rp_fkey FOREIGN KEY (estab, rp) REFERENCES authorisation(estab, rp) ON DELETE CASCADE
);
CREATE INDEX school_secret_rp ON public.school_secret USING btree (estab, rp);

create table school_session (
  estab text collate "C" not null,
  hash bytea not null,
  created_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone not null,
  constraint school_session_pkey PRIMARY KEY (estab, hash),
  constraint school_session_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE
);

create table service_process (
  tag text not null,
  version text not null,
  role text not null,
  host text not null,
  migration integer not null,
  started_at timestamp with time zone default now() not null,
  seen_at timestamp with time zone default now() not null,
  constraint service_process_pkey PRIMARY KEY (tag)
);

create table service_version (
  version text not null,
  first_started timestamp with time zone default now() not null,
  by text not null,
  constraint service_version_pkey PRIMARY KEY (version)
);

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
  reading integer not null,
  line integer not null,
  place integer,
  v1p2 text,
  shared integer
);
CREATE INDEX stage_academic_session_reading ON public.stage_academic_session USING btree (estab, reading, sourced_id);

create unlogged table stage_change (
  estab text collate "C" not null,
  reading integer not null,
  collection text not null,
  sourced_id text collate "C" not null,
  what text not null
);
CREATE INDEX stage_change_reading ON public.stage_change USING btree (estab, reading);

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
  reading integer not null,
  line integer not null,
  place integer,
  v1p2 text,
  shared integer,
  lacks text[] collate "C"
);
CREATE INDEX stage_class_reading ON public.stage_class USING btree (estab, reading, sourced_id);

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
  reading integer not null,
  line integer not null,
  place integer,
  v1p2 text,
  shared integer,
  lacks text[] collate "C"
);
CREATE INDEX stage_course_reading ON public.stage_course USING btree (estab, reading, sourced_id);

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
  reading integer not null,
  line integer not null,
  place integer,
  v1p2 text,
  shared integer
);
CREATE INDEX stage_demographics_reading ON public.stage_demographics USING btree (estab, reading, sourced_id);

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
  reading integer not null,
  line integer not null,
  place integer,
  v1p2 text,
  shared integer
);
CREATE INDEX stage_enrollment_reading ON public.stage_enrollment USING btree (estab, reading, sourced_id);

create unlogged table stage_fault (
  estab text collate "C" not null,
  reading integer not null,
  number integer not null,
  file text not null,
  line integer,
  column_name text,
  value text,
  rule text not null
);
CREATE INDEX stage_fault_reading ON public.stage_fault USING btree (estab, reading);

create unlogged table stage_mark (
  estab text collate "C" not null,
  reading integer not null,
  line integer not null,
  student_id text collate "C" not null,
  date date not null,
  session text not null,
  mark text,
  minutes_late integer,
  notes text
);
CREATE INDEX stage_mark_reading ON public.stage_mark USING btree (estab, reading);

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
  reading integer not null,
  line integer not null,
  place integer,
  v1p2 text,
  shared integer
);
CREATE INDEX stage_org_reading ON public.stage_org USING btree (estab, reading, sourced_id);

create unlogged table stage_rejected (
  estab text collate "C" not null,
  reading integer not null,
  collection text not null,
  line integer not null,
  sourced_id text collate "C",
  fault integer,
  dependent boolean default false not null,
  about text,
  rule text
);
CREATE INDEX stage_rejected_reading ON public.stage_rejected USING btree (estab, reading);

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
  reading integer not null,
  line integer not null,
  place integer,
  v1p2 text,
  shared integer,
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
CREATE INDEX stage_user_reading ON public.stage_user USING btree (estab, reading, sourced_id);

create table token_key (
  kid text not null,
  public_jwk jsonb not null,
  sealed_private_jwk bytea,
  created_at timestamp with time zone default now() not null,
  trusted_until timestamp with time zone,
  constraint token_key_pkey PRIMARY KEY (kid),
  constraint token_key_check CHECK (((trusted_until IS NULL) = (sealed_private_jwk IS NOT NULL)))
);

create table upload (
  estab text collate "C" not null,
  id uuid default gen_random_uuid() not null,
  created_at timestamp with time zone default now() not null,
  constraint upload_pkey PRIMARY KEY (estab, id),
  constraint upload_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE
);

create table upload_piece (
  estab text collate "C" not null,
  upload uuid not null,
  number integer not null,
  bytes bytea not null,
  constraint upload_piece_pkey PRIMARY KEY (estab, upload, number),
  constraint upload_piece_estab_upload_fkey FOREIGN KEY (estab, upload) REFERENCES upload(estab, id) ON DELETE CASCADE
);

create table upload_receipt (
  estab text collate "C" not null,
  id uuid not null,
  taken_at timestamp with time zone default clock_timestamp() not null,
  by_job boolean not null,
  run uuid,
  constraint upload_receipt_pkey PRIMARY KEY (estab, id),
  constraint upload_receipt_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE
);
CREATE INDEX upload_receipt_taken ON public.upload_receipt USING btree (taken_at);

create table upload_token (
  estab text collate "C" not null,
  id uuid default gen_random_uuid() not null,
  hash bytea,
  made_at timestamp with time zone default clock_timestamp() not null,
  made_by text not null,
  last_used_at timestamp with time zone,
  ended_at timestamp with time zone,
  ended_by text,
  constraint upload_token_pkey PRIMARY KEY (estab, id),
  constraint upload_token_ended_by_check CHECK ((ended_by = ANY (ARRAY['school'::text, 'operator'::text]))),
  constraint upload_token_made_by_check CHECK ((made_by = ANY (ARRAY['school'::text, 'operator'::text]))),
  constraint upload_token_estab_fkey FOREIGN KEY (estab) REFERENCES establishment(estab) ON DELETE CASCADE
);
CREATE INDEX upload_token_ended ON public.upload_token USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX upload_token_hash ON public.upload_token USING btree (hash) WHERE (hash IS NOT NULL);
CREATE UNIQUE INDEX upload_token_open ON public.upload_token USING btree (estab) WHERE (ended_at IS NULL);

create table webhook (
  estab text collate "C" not null,
  id uuid default gen_random_uuid() not null,
  rp text collate "C" not null,
  database_name text not null,
  url text not null,
  method text not null,
  created_at timestamp with time zone default now() not null,
  updated_at timestamp with time zone default now() not null,
  missed_at timestamp with time zone,
  constraint webhook_pkey PRIMARY KEY (estab, id),
  constraint webhook_estab_rp_database_name_key UNIQUE (estab, rp, database_name),
  constraint webhook_method_check CHECK ((method = ANY (ARRAY['GET'::text, 'POST'::text]))),
  constraint webhook_estab_rp_fkey FOREIGN KEY (estab, rp) REFERENCES authorisation(estab, rp) ON DELETE CASCADE
);
CREATE INDEX webhook_id ON public.webhook USING btree (id);

create table writeback (
  estab text collate "C" not null,
  tracking_id uuid default gen_random_uuid() not null,
  rp text collate "C" not null,
  status text default 'Pending'::text not null,
  partial boolean not null,
  request_hash bytea not null,
  idempotency_key text,
  callbacks jsonb not null,
  submitted_at timestamp with time zone default now() not null,
  deadline_at timestamp with time zone not null,
  completed_at timestamp with time zone,
  attempts integer default 0 not null,
  message text,
  undo_of uuid,
  faults jsonb,
  constraint writeback_pkey PRIMARY KEY (estab, tracking_id),
  constraint writeback_status_check CHECK ((status = ANY (ARRAY['Pending'::text, 'Completed'::text, 'Rejected'::text, 'Failed'::text, 'TimedOut'::text]))),
  constraint writeback_estab_rp_fkey FOREIGN KEY (estab, rp) REFERENCES authorisation(estab, rp) ON DELETE CASCADE
);
CREATE INDEX writeback_addressed ON public.writeback USING btree (completed_at) WHERE ((idempotency_key IS NOT NULL) OR (callbacks <> '[]'::jsonb));
CREATE INDEX writeback_completed ON public.writeback USING btree (completed_at) WHERE (completed_at IS NOT NULL);
CREATE UNIQUE INDEX writeback_key ON public.writeback USING btree (estab, rp, idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE UNIQUE INDEX writeback_pending ON public.writeback USING btree (estab, rp, request_hash) WHERE ((status = 'Pending'::text) AND (idempotency_key IS NULL));
CREATE UNIQUE INDEX writeback_undo ON public.writeback USING btree (estab, undo_of) WHERE ((undo_of IS NOT NULL) AND (status = ANY (ARRAY['Pending'::text, 'Completed'::text])));

create table writeback_mark (
  estab text collate "C" not null,
  tracking_id uuid not null,
  index integer not null,
  student_id text collate "C" not null,
  date text not null,
  session text not null,
  mark text,
  minutes_late integer,
  notes text,
  previous_mark text,
  result text,
  code text,
  message text,
  constraint writeback_mark_pkey PRIMARY KEY (estab, tracking_id, index),
  constraint writeback_mark_result_check CHECK ((result = ANY (ARRAY['Written'::text, 'Unchanged'::text, 'Failed'::text]))),
  constraint writeback_mark_estab_tracking_id_fkey FOREIGN KEY (estab, tracking_id) REFERENCES writeback(estab, tracking_id) ON DELETE CASCADE
);
CREATE INDEX writeback_mark_open ON public.writeback_mark USING btree (estab, student_id, date, session) WHERE (result IS NULL);

create unlogged table wrong_try (
  kind text default 'secret'::text not null,
  client text not null,
  address text not null,
  tried_at timestamp with time zone default now() not null
);
CREATE INDEX wrong_try_address ON public.wrong_try USING btree (kind, address, tried_at);
CREATE INDEX wrong_try_age ON public.wrong_try USING btree (tried_at);
CREATE INDEX wrong_try_client ON public.wrong_try USING btree (kind, client, tried_at);
