-- Which versions can be read: from kept_from on. A version that a merge made without keeping what it replaced begins anew.
alter table roster
  add column history_from int not null default 0,
  add column history_to int not null default 0,
  -- Since when there is history of records that were purged.
  add column purged_at timestamptz,
  add column kept_from int generated always as (case when history_to = version then history_from else version end) stored;
