-- outside a transaction
-- The last imports of a school, without reading the reports of all before them.
create index concurrently if not exists import_run_ended on import_run (estab, finished_at desc, id);
-- next
-- The one that waits for a person, among thousands that do not.
create index concurrently if not exists import_run_held on import_run (estab, finished_at) where outcome = 'held';
