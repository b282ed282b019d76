-- What is over age is found by its age.
create index attendance_history_at on attendance_history (at);
create index writeback_completed on writeback (completed_at) where completed_at is not null;
create index writeback_addressed on writeback (completed_at) where idempotency_key is not null or callbacks <> '[]';
create index disclosure_day on disclosure (day);
create index import_run_finished on import_run (finished_at);

-- The demo's MIS forgets too.
alter table demo_write add column written_at timestamptz not null default now();
create index demo_write_age on demo_write (written_at);
create index demo_mark_date on demo_mark (date);
