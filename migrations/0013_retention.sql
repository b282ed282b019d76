-- The demo's MIS forgets too.
alter table demo_write add column written_at timestamptz not null default now();
