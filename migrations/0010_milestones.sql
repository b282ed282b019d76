-- A mark is a mark of attendance; the keys at every thousandth record of a collection are its milestones.
alter table roster_mark rename to roster_milestone;
alter table roster_milestone rename constraint roster_mark_pkey to roster_milestone_pkey;
alter table roster_milestone rename constraint roster_mark_estab_fkey to roster_milestone_estab_fkey;
