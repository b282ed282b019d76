-- What the planner knows of a table, and telling it anew, there where the table is: of a spread database that is a piece of it, on the node of its schools.
create function known_statistics(of text, out rows float8, out schools float8) language sql volatile as $$
  select c.reltuples::float8, s.n_distinct::float8
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
    left join pg_stats s on s.schemaname = n.nspname and s.tablename = c.relname and s.attname = 'estab'
  where c.oid = to_regclass(of)
$$;
create function gather_statistics(of text) returns boolean language plpgsql volatile as $$
begin
  if to_regclass(of) is null then return false; end if;
  execute format('analyze %s', of::regclass);
  return true;
end
$$;
