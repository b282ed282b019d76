-- What 1.2 shows of a record: so many characters of `record` as are shared, all unless it says, and then `v1p2`.
alter table roster_org add column v1p2 text, add column shared integer;
alter table roster_org_history add column v1p2 text, add column shared integer;
alter table stage_org add column v1p2 text, add column shared integer;
alter table roster_academic_session add column v1p2 text, add column shared integer;
alter table roster_academic_session_history add column v1p2 text, add column shared integer;
alter table stage_academic_session add column v1p2 text, add column shared integer;
-- lacks: fields that the source left out, and that have something in their place because 1.1 requires them.
alter table roster_course add column v1p2 text, add column shared integer, add column lacks text[] collate "C";
alter table roster_course_history add column v1p2 text, add column shared integer, add column lacks text[] collate "C";
alter table stage_course add column v1p2 text, add column shared integer, add column lacks text[] collate "C";
alter table roster_class add column v1p2 text, add column shared integer, add column lacks text[] collate "C";
alter table roster_class_history add column v1p2 text, add column shared integer, add column lacks text[] collate "C";
alter table stage_class add column v1p2 text, add column shared integer, add column lacks text[] collate "C";
-- kinds: of whoever is of several, or of what is about them; null means of `kind` alone.
alter table roster_enrollment add column v1p2 text, add column shared integer, add column kinds text[] collate "C";
alter table roster_enrollment_history add column v1p2 text, add column shared integer, add column kinds text[] collate "C";
alter table stage_enrollment add column v1p2 text, add column shared integer;
alter table roster_demographics add column v1p2 text, add column shared integer, add column kinds text[] collate "C";
alter table roster_demographics_history add column v1p2 text, add column shared integer, add column kinds text[] collate "C";
alter table stage_demographics add column v1p2 text, add column shared integer;
-- roles: null where the source has one role for all organisations.
alter table roster_user add column v1p2 text, add column shared integer, add column lacks text[] collate "C", add column kinds text[] collate "C",
  add column user_master_identifier text collate "C", add column preferred_first_name text collate "C", add column preferred_middle_name text collate "C",
  add column preferred_last_name text collate "C", add column pronouns text collate "C", add column primary_org_id text collate "C",
  add column user_profiles jsonb, add column roles jsonb;
alter table roster_user_history add column v1p2 text, add column shared integer, add column lacks text[] collate "C", add column kinds text[] collate "C",
  add column user_master_identifier text collate "C", add column preferred_first_name text collate "C", add column preferred_middle_name text collate "C",
  add column preferred_last_name text collate "C", add column pronouns text collate "C", add column primary_org_id text collate "C",
  add column user_profiles jsonb, add column roles jsonb;
alter table stage_user add column v1p2 text, add column shared integer, add column lacks text[] collate "C", add column kinds text[] collate "C",
  add column user_master_identifier text collate "C", add column preferred_first_name text collate "C", add column preferred_middle_name text collate "C",
  add column preferred_last_name text collate "C", add column pronouns text collate "C", add column primary_org_id text collate "C",
  add column user_profiles jsonb, add column roles jsonb;

-- The version up to which every record, also of the history, is rendered for 1.2.
alter table roster add column rendered_to integer not null default 0;

-- Of whoever is of several kinds, all of them, separated by commas. Each is counted in roster_total too, by the main one.
create table roster_mixed_total (
  estab text collate "C" not null references roster on delete cascade,
  collection text not null,
  kind text not null,
  kinds text not null,
  status text not null,
  count int not null,
  primary key (estab, collection, kind, kinds, status)
);
