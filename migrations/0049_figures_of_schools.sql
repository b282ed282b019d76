-- What is asked about all schools at once and lies with each school's records: how each import ended, and how many records and pupils there
-- are, beside where the roster stands. The version before writes both through the triggers; the instant of a version comes after the version.
create table import_end (
  estab text collate "C" not null references establishment on delete cascade,
  id uuid not null,
  started_at timestamptz not null,
  finished_at timestamptz not null,
  outcome text not null,
  primary key (estab, id)
);
create index import_end_started on import_end (estab, started_at);
create index import_end_finished on import_end (finished_at);

insert into import_end (estab, id, started_at, finished_at, outcome) select estab, id, started_at, finished_at, outcome from import_run;

create function note_import_end() returns trigger language plpgsql as $$
begin
  insert into import_end (estab, id, started_at, finished_at, outcome) values (new.estab, new.id, new.started_at, new.finished_at, new.outcome)
    on conflict (estab, id) do nothing;
  return null;
end $$;

create trigger note_import_end after insert on import_run for each row execute function note_import_end();

-- Those that ended before the trigger was there and after the others were read.
insert into import_end (estab, id, started_at, finished_at, outcome)
  select estab, id, started_at, finished_at, outcome from import_run where finished_at > now() - interval '1 day' on conflict (estab, id) do nothing;

alter table roster_standing add column records int not null default 0, add column pupils int not null default 0;

create or replace function note_standing() returns trigger language plpgsql as $$
begin
  insert into roster_standing (estab, roster_id, version, kept_from, instant, purged_at, rendered_to, records, pupils)
    select r.estab, r.id, r.version, r.kept_from, v.instant, r.purged_at, r.rendered_to, t.records, t.pupils
    from roster r left join roster_version v on v.estab = r.estab and v.version = r.version
      cross join lateral (select coalesce(sum(count), 0)::int as records,
          coalesce(sum(count) filter (where collection = 'users' and kind = 'student'), 0)::int as pupils
        from roster_total where estab = r.estab and status = 'active') t
    where r.estab = new.estab
    on conflict (estab) do update set roster_id = excluded.roster_id, version = excluded.version, kept_from = excluded.kept_from,
      instant = excluded.instant, purged_at = excluded.purged_at, rendered_to = excluded.rendered_to, records = excluded.records, pupils = excluded.pupils;
  return null;
end $$;

create trigger note_standing after insert on roster_version for each row execute function note_standing();

update roster_standing s set records = t.records, pupils = t.pupils
  from (select estab, sum(count)::int as records, coalesce(sum(count) filter (where collection = 'users' and kind = 'student'), 0)::int as pupils
    from roster_total where status = 'active' group by estab) t
  where s.estab = t.estab;
update roster_standing s set instant = v.instant from roster_version v where v.estab = s.estab and v.version = s.version and s.instant is null;
