-- People who can sign in: presences, logins, and what was done with them.

-- The local id of a person at an establishment: the same for ever, whatever the roster does.
create function presence_id(estab text, sourced_id text) returns text language sql immutable strict parallel safe as $$
  select 'p-' || encode(substr(sha256(convert_to(estab || chr(31) || sourced_id, 'UTF8')), 1, 12), 'hex')
$$;
create index roster_user_presence on roster_user (estab, presence_id(estab, sourced_id));

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

-- password_hash: null until the person has registered.
create table login (
  estab text collate "C" not null references establishment on delete cascade,
  presence_id text collate "C" not null,
  username text not null,
  password_hash text,
  change_at_next_login boolean not null default false,
  wrong_tries int not null default 0,
  locked_until timestamptz,
  last_logged_in timestamptz,
  created_at timestamptz not null default now(),
  registered_at timestamptz,
  primary key (estab, presence_id)
);
create unique index login_username on login (estab, lower(username));

create table registration_link (
  hash bytea primary key,
  estab text collate "C" not null,
  presence_id text collate "C" not null,
  expires_at timestamptz not null,
  -- An application that its school has not decided about yet: the way leads on to its request.
  invitation uuid,
  foreign key (estab, presence_id) references login on delete cascade
);
create index registration_link_login on registration_link (estab, presence_id);

create table login_session (
  hash bytea primary key,
  estab text collate "C" not null,
  presence_id text collate "C" not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  foreign key (estab, presence_id) references login on delete cascade
);
create index login_session_login on login_session (estab, presence_id);

-- Every identity operation and sign-in: when, who asked, about whom, and how it ended.
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

-- What the OpenID Connect provider keeps: codes, grants, sessions.
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
create index oidc_record_grant on oidc_record (grant_id) where grant_id is not null;
create index oidc_record_uid on oidc_record (model, uid) where uid is not null;
create index oidc_record_account on oidc_record ((payload ->> 'accountId'));
create index oidc_record_expiry on oidc_record (expires_at);
