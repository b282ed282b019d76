-- Which versions of the code a migration ends: those that do not know the migration of this number.
alter table migration add column breaks_before int;
