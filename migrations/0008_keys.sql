-- Keys that end. trusted_until: null for the key that signs at present. Of a retired key only the public half is kept,
-- to tell its tokens from what was never issued here.
alter table token_key add column trusted_until timestamptz;
alter table token_key alter column sealed_private_jwk drop not null;
update token_key set trusted_until = retired_at + interval '25 hours', sealed_private_jwk = null where retired_at is not null;
alter table token_key drop column retired_at;
alter table token_key add constraint token_key_signs check ((trusted_until is null) = (sealed_private_jwk is not null));

-- The OpenID Connect provider's keys, one of each kind in a row: for ID tokens and for cookies.
create table provider_key (
  id uuid primary key default gen_random_uuid(),
  sealed bytea not null,
  created_at timestamptz not null default now(),
  trusted_until timestamptz
);
insert into provider_key (sealed) select decode(payload ->> 'sealed', 'base64') from oidc_record where model = 'Keys' and id = 'keys';
delete from oidc_record where model = 'Keys';
