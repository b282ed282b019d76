-- Which versions of the service this database has had, and of which each process is that uses it.
create table service_version (
  version text primary key,
  first_started timestamptz not null default now(),
  by text not null
);

create table service_process (
  tag text primary key,
  version text not null,
  role text not null,
  host text not null,
  started_at timestamptz not null default now()
);

-- The recurring backup: one plan at most. id stands in the folder as well, so that one of the same name elsewhere is not taken for it.
-- database: which one it was made for; a copy of that one, as a restored one is, does not write into its folder.
create table backup_plan (
  single boolean primary key default true check (single),
  id uuid not null,
  folder text not null,
  every_seconds int not null check (every_seconds > 0),
  keep int not null check (keep > 0),
  sealed_passphrase bytea not null,
  database text not null,
  since timestamptz not null,
  by text not null,
  -- When somebody last asked for one beside the plan.
  asked_at timestamptz
);

-- What the plan has made. A backup is good once it was restored elsewhere and compared.
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
  -- When its file was removed, or found gone.
  gone_at timestamptz
);
create index backup_run_plan on backup_run (plan, number);
