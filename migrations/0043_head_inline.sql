-- The same text, from nothing but immutable parts: then the expression itself stands in a statement, and no function is called for each row.
create or replace function roster_head(estab text, sourced_id text, status text, version int) returns text language sql immutable strict parallel safe as $$
  select '{"sourcedId":"' || replace(replace(sourced_id, '\', '\\'), '"', '\"') || '","status":"' || status || '","dateLastModified":"' || chr(2) || estab || ' ' || version::text || chr(2) || '"'
$$;
