-- Who an application is, for the schools that it asks and for those who write to it; and whether it wants to be told of every change of state.
alter table application
  add column website text,
  add column privacy_notice text,
  add column contact text,
  add column state_events boolean not null default false;
