-- The sandbox of the demo: which applications are there to rehearse with, and what is done to them on purpose. How the demo's MIS
-- behaves, and what its clock says, stands with the settings of its connector.
alter table application add column demo boolean not null default false;

-- One row for each kind of fault. seconds: of a delay, or of a token. remaining: how many answers are left. holding: the call that waits
-- until the next one has gone out.
create table sandbox_fault (
  rp text collate "C" not null references application on delete cascade,
  kind text not null check (kind in ('events', 'tokens', 'answers')),
  mode text not null,
  seconds int,
  remaining int,
  holding text,
  set_at timestamptz not null default now(),
  until timestamptz not null,
  primary key (rp, kind)
);
create index sandbox_fault_until on sandbox_fault (until);
