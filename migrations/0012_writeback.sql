-- Writebacks wait for nobody but an earlier one of the same pupil, date and session, or for their MIS, and are woken.

-- What waiting work waits for, so that whoever brings that about can wake it; and when somebody last did in this lane:
-- what was under way then cannot have heard of it.
alter table outbox add column waits_for text;
alter table lane add column woken_at timestamptz;

-- Every fault of marks that were refused at once, for whoever asks again under the same Idempotency-Key.
alter table writeback add column faults jsonb;
