-- outside a transaction
-- The letters by which an operator finds somebody: in any case, with or without accents, and as many as a key can hold. What it
-- names is looked up here and now: an index is made without a search path. Not strict, so that it is put in the place of its call:
-- called for each row, it would take an import of people four times as long.
create or replace function roster_letters(words text) returns text language sql immutable parallel safe
  return case when octet_length(words) = char_length(words) then lower(left(words, 60) collate "C")
    else lower(regexp_replace(normalize(left(words, 60), NFD), '[\u0300-\u036f]', '', 'g') collate roster_fold) collate "C" end;
-- next
-- The one way to a person by name. Of each kind by themselves, so that few among many are found without reading the many. A given
-- name alone is sought along the same entries, without looking at the people: a second index would be one more for every import.
create index concurrently if not exists roster_user_names
  on roster_user (estab, kind, roster_letters(family_name), roster_letters(given_name), sourced_id);
-- next
-- Who names somebody: a parent their children, or a child their parents.
create index concurrently if not exists roster_user_agents on roster_user using gin (agent_ids) where agent_ids is not null;
