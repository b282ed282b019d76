-- Packages that a school's export job sends with a token of its own; and who was told that a collection is held or fails.

-- One that ended opens nothing, and stays as the record of who made and who ended it.
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
create unique index upload_token_open on upload_token (estab) where ended_at is null;
create index upload_token_hash on upload_token (hash) where hash is not null;
create index upload_token_ended on upload_token (ended_at) where ended_at is not null;

-- What became of a package, whose bytes go as soon as it is imported. run: the last import of it that came to an end.
create table upload_receipt (
  estab text collate "C" not null references establishment on delete cascade,
  id uuid not null,
  taken_at timestamptz not null default clock_timestamp(),
  by_job boolean not null,
  run uuid,
  primary key (estab, id)
);
create index upload_receipt_taken on upload_receipt (taken_at);

-- Since when nothing but failures came; and what the school was told last, until it is told that all is well again.
alter table component_database
  add column failing_since timestamptz,
  add column told text check (told in ('held', 'refused', 'failing')),
  add column told_at timestamptz;
