-- outside a transaction
-- Work by kind and state, newest first. Calls have lists of their own and are a thousand times as many.
create index concurrently if not exists outbox_work on outbox (kind, state, created_at, id) where kind <> 'call';
-- next
create index concurrently if not exists outbox_school_work on outbox (estab, created_at, id) where kind <> 'call';
-- next
-- What an operator did, newest first.
create index concurrently if not exists audit_event_actor on audit_event (actor, number);
-- next
-- Since when work is under way, and in which process.
alter table outbox add column if not exists claimed_at timestamptz, add column if not exists claimed_by text;
-- next
-- How the last run of a chore went: when, in which process, how long it took, and what was in its way. last_at is earlier than
-- that for one which failed and is due again soon.
alter table chore add column if not exists ran_at timestamptz, add column if not exists every_ms bigint, add column if not exists took_ms bigint, add column if not exists trouble text,
  add column if not exists by text;
