-- Where a school's data comes from, how each of its component databases stands, attendance, who waits for data, and
-- what is written back.

alter table establishment drop constraint establishment_connector_check;
alter table establishment add constraint establishment_connector_check check (connector in ('csv', 'oneroster', 'demo'));

-- How a connector is set up. Credentials are sealed with SECRET_KEY; state is what the last collection left for the next.
create table connector_setting (
  estab text collate "C" primary key references establishment on delete cascade,
  settings jsonb not null default '{}',
  sealed_credentials bytea,
  state jsonb not null default '{}'
);

-- status: how the last collection ended. While refreshing_since is set a collection is waiting or under way.
create table component_database (
  estab text collate "C" not null references establishment on delete cascade,
  name text not null check (name in ('SchoolData', 'Attendance')),
  status text not null default 'NoData' check (status in ('NoData', 'OK', 'Error', 'Timeout', 'Paused')),
  message text,
  row_count int not null default 0,
  -- The last collection that succeeded, and the last one that changed something.
  updated_at timestamptz,
  changed_at timestamptz,
  -- When the data is no longer fresh; what is only ever uploaded stays fresh.
  expires_at timestamptz,
  -- When it is collected next without anybody asking.
  refresh_at timestamptz,
  refreshing_since timestamptz,
  progress real,
  primary key (estab, name)
);
create index component_database_refresh on component_database (refresh_at) where refresh_at is not null;

-- Schools that were there before.
insert into component_database (estab, name, status, row_count, updated_at, changed_at)
select r.estab, 'SchoolData', 'OK', (select coalesce(sum(count), 0) from roster_total t where t.estab = r.estab and t.status = 'active'), v.instant, v.instant
from roster r join roster_version v on v.estab = r.estab and v.version = r.version;

-- What a record of the roster lost by a change of another one, which then no longer says so: a class a member, a contact
-- a child, a role its holder. what: the collection, or 'left ' and the kind that a person had.
create table roster_touch (
  estab text collate "C" not null references roster on delete cascade,
  what text not null,
  sourced_id text collate "C" not null,
  version int not null,
  primary key (estab, what, sourced_id)
);

-- One instant per change of a school's marks, written last before the commit, as for the roster.
create table attendance_version (
  estab text collate "C" not null references establishment on delete cascade,
  version int not null,
  instant timestamptz not null,
  primary key (estab, version)
);

-- A mark that was taken back has none, so that readers of deltas learn of it.
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

-- Every entry of a register with what it replaced. rp and tracking_id are null for what came from the MIS itself.
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
create index attendance_history_tracking on attendance_history (estab, tracking_id) where tracking_id is not null;

-- A request for data with a callbackUrl, until its one callback is in the outbox.
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
create index availability_wait_open on availability_wait (next_check_at) where done_at is null;
create index availability_wait_rp on availability_wait (rp) where done_at is null;
create index availability_wait_done on availability_wait (done_at) where done_at is not null;

create table writeback (
  estab text collate "C" not null,
  tracking_id uuid not null default gen_random_uuid(),
  rp text collate "C" not null,
  status text not null default 'Pending' check (status in ('Pending', 'Completed', 'Rejected', 'Failed', 'TimedOut')),
  partial boolean not null,
  -- Of what was asked, so that the same request is the same writeback.
  request_hash bytea not null,
  idempotency_key text,
  callbacks jsonb not null,
  submitted_at timestamptz not null default now(),
  deadline_at timestamptz not null,
  completed_at timestamptz,
  attempts int not null default 0,
  message text,
  undo_of uuid,
  primary key (estab, tracking_id),
  foreign key (estab, rp) references authorisation on delete cascade
);
create unique index writeback_key on writeback (estab, rp, idempotency_key) where idempotency_key is not null;
create unique index writeback_pending on writeback (estab, rp, request_hash) where status = 'Pending' and idempotency_key is null;
create unique index writeback_undo on writeback (estab, undo_of) where undo_of is not null and status in ('Pending', 'Completed');

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

-- The demo's MIS: the marks that were written to it, and what it answered, so that the same write twice is one.
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
create table demo_write (
  estab text collate "C" not null references establishment on delete cascade,
  tracking_id uuid not null,
  answer jsonb not null,
  primary key (estab, tracking_id)
);
