-- What schools decided about applications that have been removed since, with the name by which they knew them: that record is the schools'.
create table past_decision (
  estab text collate "C" not null references establishment on delete cascade,
  rp text collate "C" not null,
  application text not null,
  number bigint not null,
  at timestamptz not null,
  state text not null,
  actor text not null,
  scopes text[],
  primary key (estab, rp, number)
);
