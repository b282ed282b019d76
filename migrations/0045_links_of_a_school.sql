-- Links and cookies name their school before the random part, and are found by both. Those that were given out before do not: for these a hash
-- says which school it is of, until it has expired. The version before notes its own through the triggers.
create table unnamed_link (
  hash bytea primary key,
  estab text collate "C" not null references establishment on delete cascade,
  expires_at timestamptz not null
);
create index unnamed_link_expiry on unnamed_link (expires_at);
create index unnamed_link_estab on unnamed_link (estab);

create function note_unnamed() returns trigger language plpgsql as $$
begin
  insert into unnamed_link (hash, estab, expires_at) values (new.hash, new.estab, new.expires_at) on conflict (hash) do nothing;
  return null;
end $$;

create trigger note_unnamed after insert on school_link for each row execute function note_unnamed();
create trigger note_unnamed after insert on school_session for each row execute function note_unnamed();
create trigger note_unnamed after insert on login_session for each row execute function note_unnamed();
create trigger note_unnamed after insert on registration_link for each row execute function note_unnamed();
