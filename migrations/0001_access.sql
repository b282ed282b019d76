-- Who may call: establishments, applications, what each may read, and the secrets that prove it.

create table establishment (
  estab text collate "C" primary key check (estab ~ '^[A-Za-z0-9._-]{1,32}$'),
  name text not null,
  email text not null,
  time_zone text not null default 'Europe/London',
  connector text check (connector in ('csv')),
  created_at timestamptz not null default now()
);

create table application (
  rp text collate "C" primary key check (rp ~ '^[A-Za-z0-9._-]{1,64}$'),
  name text not null,
  callback_url text not null,
  redirect_uris text[] not null default '{}',
  required_scopes text[] not null,
  optional_scopes text[] not null,
  client_id text collate "C" not null unique,
  created_at timestamptz not null default now()
);

-- Secrets are checked against a hash. Only what must be shown or used again is also kept, sealed with SECRET_KEY.
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

create table authorisation (
  estab text collate "C" not null references establishment on delete cascade,
  rp text collate "C" not null references application on delete cascade,
  scopes text[] not null,
  state text not null check (state in ('Approved', 'Paused', 'Revoked')),
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  primary key (estab, rp)
);
create index authorisation_rp on authorisation (rp);

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

create table token_key (
  kid text primary key,
  public_jwk jsonb not null,
  sealed_private_jwk bytea not null,
  created_at timestamptz not null default now(),
  retired_at timestamptz
);

-- Failed tries at a token endpoint, for one client from one address.
create unlogged table wrong_try (
  client text not null,
  address text not null,
  tried_at timestamptz not null default now()
);
create index wrong_try_lookup on wrong_try (client, address, tried_at);
create index wrong_try_age on wrong_try (tried_at);

-- Requests per credential and minute, summed up by every process about once a second.
create unlogged table request_count (
  credential text not null,
  minute timestamptz not null,
  count int not null,
  primary key (credential, minute)
);
