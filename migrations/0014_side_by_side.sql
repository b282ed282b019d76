-- Which versions of the code a migration ends: those that do not know the migration of this number.
alter table migration add column breaks_before int;

-- Chores that are done once for all processes, with when each was begun last.
create table chore (
  name text primary key,
  last_at timestamptz not null
);

-- What was settled and tried in each five minutes, so that a day need not be counted again and again.
create table outbox_tally (
  since timestamptz primary key,
  settled jsonb not null,
  attempts jsonb not null
);

-- The version of the roster and the newest one that was old enough, when it was last looked at for what may be purged.
alter table roster add column purge_version int, add column purge_ripe int;
