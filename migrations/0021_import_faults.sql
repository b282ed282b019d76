-- How an import came, whether it left out what was wrong, and what a person decided about one that was held.
alter table import_run
  add column kind text,
  add column partial boolean not null default false,
  add column decision text check (decision in ('approved', 'discarded', 'replaced')),
  add column decided_at timestamptz;

-- Every fault of an import, one after the other: a row of its source that breaks a rule. Dependants are rows that were left out with it
-- because they refer to it.
create table import_fault (
  estab text collate "C" not null,
  import uuid not null,
  number int not null,
  file text not null,
  line int,
  column_name text,
  value text,
  rule text not null,
  dependants int not null default 0,
  primary key (estab, import, number),
  foreign key (estab, import) references import_run (estab, id) on delete cascade
);

-- What would go with an import that is held, until somebody has decided. Of each kind some have a name, for that person to read.
create table import_loss (
  estab text collate "C" not null,
  import uuid not null,
  collection text not null,
  sourced_id text collate "C" not null,
  role text,
  name text,
  primary key (estab, import, collection, sourced_id),
  foreign key (estab, import) references import_run (estab, id) on delete cascade
);

-- A row that was left out falls by its own fault, or with that of a row that it refers to.
alter table stage_rejected add column fault int, add column dependent boolean not null default false;

create unlogged table stage_fault (
  estab text collate "C" not null,
  reading int not null,
  number int not null,
  file text not null,
  line int,
  column_name text,
  value text,
  rule text not null
);
create index stage_fault_reading on stage_fault (estab, reading);
