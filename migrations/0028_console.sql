-- The console: who may look into the service and steer it, and what they did.

-- `admin` is the operator whose password is a setting; everybody else came by an invitation to their address.
create table console_account (
  id uuid primary key default gen_random_uuid(),
  sign_in_name text collate "C" not null unique check (sign_in_name = lower(sign_in_name)),
  name text not null,
  email text,
  role text not null check (role in ('admin', 'viewer')),
  password_hash text,
  sealed_totp bytea,
  -- The last step whose code was taken: none is taken twice.
  totp_step bigint,
  -- Hashes of codes for those who lost their second factor; each goes when it is used.
  recovery_hashes bytea[] not null default '{}',
  wrong_tries int not null default 0,
  locked_until timestamptz,
  last_signed_in timestamptz,
  created_at timestamptz not null default now(),
  created_by text not null
);

create table console_link (
  hash bytea primary key,
  account uuid not null references console_account on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index console_link_account on console_link (account);

-- proven: the second factor was shown, or none is needed.
create table console_session (
  hash bytea primary key,
  account uuid not null references console_account on delete cascade,
  proven boolean not null,
  address text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index console_session_account on console_session (account);

create table console_rule (
  name text primary key check (name in ('second factor')),
  required boolean not null
);

-- What operators did and looked at, by page or by command. Written before it is done: what has no outcome was cut off.
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
create index audit_event_at on audit_event (at);
create index audit_event_estab on audit_event (estab, number) where estab is not null;
create index audit_event_rp on audit_event (rp, number) where rp is not null;
