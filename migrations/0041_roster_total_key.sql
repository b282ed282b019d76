alter table roster_total drop constraint roster_total_pkey, add constraint roster_total_pkey primary key using index roster_total_kinds;
