-- outside a transaction
-- Which of its deliveries an application sees, newest first, in each state: those of one school, and all. By an expression,
-- so that no other order by time is taken for them, in which those of an application may be far apart.
create index concurrently if not exists outbox_school_calls on outbox (estab, rp, state, (created_at at time zone 'UTC'), id) where kind = 'call';
-- next
create index concurrently if not exists outbox_calls on outbox (rp, state, (created_at at time zone 'UTC'), id) where kind = 'call';
-- next
-- When its application was last told that it fails, and that it was disabled; one that is told again began to fail after that.
alter table lane add column if not exists failing_told_at timestamptz, add column if not exists disabled_told_at timestamptz;
