-- Inboxes: places of an application that take calls and show them. The key is the address, which is shown again and opens nothing
-- but writing into the inbox. What came is sealed with a key of the inbox's own, which is sealed with SECRET_KEY.
create table inbox (
  id uuid primary key default gen_random_uuid(),
  rp text not null references application (rp) on delete cascade,
  name text not null,
  key text not null unique,
  sealed_key bytea not null,
  answer text not null default '200' check (answer in ('200', '500', '410', 'slow', 'never')),
  -- How many calls were taken in that minute.
  minute timestamptz not null default '-infinity',
  minute_calls int not null default 0,
  created_at timestamptz not null default now(),
  unique (rp, name)
);

-- head: path and headers, sealed; body: its first bytes, sealed. bytes: how many there were.
create table inbox_call (
  inbox uuid not null references inbox (id) on delete cascade,
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
