-- outside a transaction
-- Those of several kinds are counted apart from those of one.
create unique index concurrently if not exists roster_total_kinds on roster_total (estab, collection, kind, kinds, status);
