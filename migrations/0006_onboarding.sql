-- How a school comes to share data with an application, what it decided and when, and what each application has read.

-- Null: only an application has named the school, and nobody vouches for its address.
alter table establishment add column confirmed_at timestamptz default now();

-- When the application was told that the data is there, and which secret it was told.
alter table authorisation add column installed_at timestamptz;
alter table authorisation add column announced_secret uuid;
update authorisation set installed_at = now();

create table invitation (
  estab text collate "C" not null references establishment on delete cascade,
  id uuid not null default gen_random_uuid(),
  rp text collate "C" not null references application on delete cascade,
  -- Proposed: waits for the operator to confirm the school.
  state text not null check (state in ('Proposed', 'Invited', 'Approved', 'Declined', 'Expired', 'Withdrawn')),
  required_scopes text[] not null,
  optional_scopes text[] not null,
  -- As the application typed it: shown as text, never used as an address to write to.
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
create unique index invitation_open on invitation (estab, rp) where state in ('Proposed', 'Invited');
create index invitation_rp on invitation (rp);

-- Every change of what a pair of school and application is to each other: when, and who acted.
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

-- Links are sent by mail and open a session; both are kept as hashes.
create table school_link (
  hash bytea primary key,
  estab text collate "C" not null references establishment on delete cascade,
  invitation uuid,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index school_link_estab on school_link (estab);

create table school_session (
  hash bytea primary key,
  estab text collate "C" not null references establishment on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index school_session_estab on school_session (estab);

-- A package on its way from the process that took it to the worker that imports it.
create table upload (
  estab text collate "C" not null references establishment on delete cascade,
  id uuid not null default gen_random_uuid(),
  created_at timestamptz not null default now(),
  primary key (estab, id)
);
create table upload_piece (
  estab text collate "C" not null,
  upload uuid not null,
  number int not null,
  bytes bytea not null,
  primary key (estab, upload, number),
  foreign key (estab, upload) references upload on delete cascade
);
alter table upload_piece alter column bytes set storage external;

-- What each application has read of a school, by day and collection.
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
