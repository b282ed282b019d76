-- When each process last said that it lives: one that serves nobody at the moment has no connection.
alter table service_process add column seen_at timestamptz not null default now();

-- When a worker last had the folder of the backups at hand.
alter table backup_plan add column seen_at timestamptz;
