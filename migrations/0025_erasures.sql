-- What was erased, how much and when; not whose. It refers to nothing, since what it is about is gone.
create table erasure (
  number bigint generated always as identity primary key,
  at timestamptz not null default now(),
  what text not null,
  counts jsonb not null
);
create index erasure_at on erasure (at);
