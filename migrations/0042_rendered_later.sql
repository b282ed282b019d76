-- The version at which records were last rendered for 1.2 later than they were merged, also such as that merge did not touch. What was made
-- of a roster's lists before is not carried on.
alter table roster add column rendered_later integer not null default 0;
