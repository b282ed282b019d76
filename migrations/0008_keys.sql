-- The OpenID Connect provider's keys, one of each kind in a row: for ID tokens and for cookies.
create table provider_key (
  id uuid primary key default gen_random_uuid(),
  sealed bytea not null,
  created_at timestamptz not null default now(),
  trusted_until timestamptz
);
insert into provider_key (sealed) select decode(payload ->> 'sealed', 'base64') from oidc_record where model = 'Keys' and id = 'keys';
delete from oidc_record where model = 'Keys';
