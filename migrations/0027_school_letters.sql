-- People say by its name which school is theirs, before they have signed in: found by its letters, among however many schools.
create index establishment_letters on establishment (regexp_replace(lower(name), '[^[:alnum:]]+', '', 'g') text_pattern_ops) where confirmed_at is not null;
