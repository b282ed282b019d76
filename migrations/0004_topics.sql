-- seq: the order in which work was put into its lane, taken while the lane is locked. created_at cannot tell: it is
-- older than it seems for whatever was put there at the end of a long transaction.
alter table outbox add column seq bigint generated always as identity;
alter table outbox alter column created_at set default clock_timestamp();
-- Whether something newer was said on a topic is asked whenever a call on it failed.
create index outbox_newer on outbox (estab, topic, seq) where topic is not null;
create index outbox_id on outbox (id);
create index outbox_created on outbox (created_at);
create index outbox_attempt_at on outbox_attempt (at);

-- epoch: raised when the receiver behind a lane is another one, so that what the old one still answers is not held
-- against the new one.
alter table lane add column epoch int not null default 0;

-- A change that this registration was not told of, because it was held back at the time.
alter table webhook add column missed_at timestamptz;
