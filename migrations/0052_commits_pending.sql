-- Which transactions are prepared and not yet committed on the node where it is asked: what they wrote is to be seen in a moment.
create function commits_pending() returns text[] language sql volatile as $$
  select coalesce(array_agg(gid), '{}') from pg_prepared_xacts where database = current_database()
$$;
