-- outside a transaction
-- An operator stopped it; what comes meanwhile waits.
alter table lane add column if not exists paused_at timestamptz, add column if not exists paused_by text;
-- next
-- A lane knows its registration by the id alone.
create index concurrently if not exists webhook_id on webhook (id);
-- next
-- Those that need somebody, without a look at all others. One that is well is in none of its pages, and costs nothing to keep out.
create index concurrently if not exists lane_trouble on lane (key) where failing_since is not null or disabled_at is not null or paused_at is not null;
