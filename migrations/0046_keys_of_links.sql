-- outside a transaction
-- Links that were given out before, and keys by which a school's rows are found by the school first.
insert into unnamed_link (hash, estab, expires_at)
  select hash, estab, expires_at from school_link union all select hash, estab, expires_at from school_session
  union all select hash, estab, expires_at from login_session union all select hash, estab, expires_at from registration_link
  on conflict (hash) do nothing;
-- next
create unique index concurrently if not exists school_link_key on school_link (estab, hash);
-- next
create unique index concurrently if not exists school_session_key on school_session (estab, hash);
-- next
create unique index concurrently if not exists login_session_key on login_session (estab, hash);
-- next
create unique index concurrently if not exists registration_link_key on registration_link (estab, hash);
