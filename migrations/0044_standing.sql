-- Where each roster stands, for whoever asks about all schools at once, and when a school was last gone through for what is over age: beside
-- `roster`, which lies with the school's records. The version before does not know it, and writes it through the trigger.
create table roster_standing (
  estab text collate "C" primary key references establishment on delete cascade,
  roster_id uuid not null,
  version int not null,
  kept_from int not null,
  instant timestamptz,
  purged_at timestamptz,
  rendered_to int not null,
  swept_at timestamptz not null default '-infinity'
);

insert into roster_standing (estab, roster_id, version, kept_from, instant, purged_at, rendered_to)
  select r.estab, r.id, r.version, r.kept_from, v.instant, r.purged_at, r.rendered_to
  from roster r left join roster_version v on v.estab = r.estab and v.version = r.version;

create function note_standing() returns trigger language plpgsql as $$
begin
  insert into roster_standing (estab, roster_id, version, kept_from, instant, purged_at, rendered_to)
    values (new.estab, new.id, new.version, new.kept_from,
      (select v.instant from roster_version v where v.estab = new.estab and v.version = new.version), new.purged_at, new.rendered_to)
    on conflict (estab) do update set roster_id = excluded.roster_id, version = excluded.version, kept_from = excluded.kept_from,
      instant = excluded.instant, purged_at = excluded.purged_at, rendered_to = excluded.rendered_to;
  return null;
end $$;

create trigger note_standing after insert or update on roster for each row execute function note_standing();
