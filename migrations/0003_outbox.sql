-- Durable work: what must happen is a row, written in the transaction of its cause and done by a worker.

-- What is limited together: a receiver of calls, say. next_at is when its next waiting row is due; a lane whose width
-- is used up has none, and gets it back when a row of it is settled.
create table lane (
  key text collate "C" primary key,
  host text,
  width int not null check (width > 0),
  -- Whether a receiver that is gone for good ends the lane; one of one-off calls goes on.
  lasting boolean not null,
  next_at timestamptz,
  failures int not null default 0,
  failing_since timestamptz,
  open_until timestamptz,
  openings int not null default 0,
  warned_at timestamptz,
  disabled_at timestamptz,
  disabled_why text
);
create index lane_next on lane (next_at) where next_at is not null;
create index lane_host on lane (host) where host is not null;

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
  -- Attempts that do not count against the schedule any more, because the work was replayed after them.
  forgiven int not null default 0,
  due_at timestamptz not null,
  claim uuid,
  lease_until timestamptz,
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  primary key (estab, id)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create index outbox_waiting on outbox (lane, due_at) where state = 'waiting';
create index outbox_running on outbox (lane) where state = 'running';
create index outbox_lease on outbox (lease_until) where state = 'running';
create index outbox_settled on outbox (settled_at) where settled_at is not null;
create index outbox_pair on outbox (estab, rp);
-- A burst of changes is one event until its first attempt.
create unique index outbox_topic on outbox (estab, topic) where state = 'waiting' and attempts = 0;

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

-- One registration per application, establishment and database.
create table webhook (
  estab text collate "C" not null,
  id uuid not null default gen_random_uuid(),
  rp text collate "C" not null,
  database_name text not null,
  url text not null,
  method text not null check (method in ('GET', 'POST')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (estab, id),
  unique (estab, rp, database_name),
  foreign key (estab, rp) references authorisation on delete cascade
);
