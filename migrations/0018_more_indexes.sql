-- outside a transaction
-- Who else is about to write a pupil's mark; those that were written or judged faulty are not in it.
create index concurrently if not exists writeback_mark_open on writeback_mark (estab, student_id, date, session) where result is null;
-- next
-- What is over age is found by its age.
create index concurrently if not exists attendance_history_at on attendance_history (at);
-- next
create index concurrently if not exists writeback_completed on writeback (completed_at) where completed_at is not null;
-- next
create index concurrently if not exists writeback_addressed on writeback (completed_at) where idempotency_key is not null or callbacks <> '[]';
-- next
create index concurrently if not exists disclosure_day on disclosure (day);
-- next
create index concurrently if not exists import_run_finished on import_run (finished_at);
-- next
create index concurrently if not exists demo_write_age on demo_write (written_at);
-- next
create index concurrently if not exists demo_mark_date on demo_mark (date);
