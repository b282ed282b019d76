-- outside a transaction
-- Requests of the last days, one by one. rp: whoever was certain to be calling; empty: nobody. path: with ids left out.
create table if not exists request_line (
  number bigint generated always as identity primary key,
  at timestamptz not null,
  rp text collate "C" not null,
  estab text collate "C",
  method text not null,
  path text not null,
  status int not null,
  ms real not null,
  records int,
  request_id text not null
);
-- next
create index concurrently if not exists request_line_rp on request_line (rp, number);
-- next
create index concurrently if not exists request_line_refused on request_line (rp, number) where status >= 400;
-- next
create index concurrently if not exists request_line_estab on request_line (estab, number) where estab is not null;
-- next
create index concurrently if not exists request_line_at on request_line (at);
-- next
-- The same, counted by the hour, those of which no line was kept included. rp '*': all together. ms: the sum.
create table if not exists request_hour (
  hour timestamptz not null,
  rp text collate "C" not null,
  requests int not null,
  refused int not null,
  failed int not null,
  records bigint not null,
  ms float8 not null,
  primary key (hour, rp)
);
-- next
create index concurrently if not exists request_hour_rp on request_hour (rp, hour);
-- next
-- Deliveries that were settled in the hour, and tries that were made in it. rp '*': all together.
create table if not exists delivery_hour (
  hour timestamptz not null,
  rp text collate "C" not null,
  delivered int not null,
  failed int not null,
  tries int not null,
  failed_tries int not null,
  primary key (hour, rp)
);
-- next
create index concurrently if not exists delivery_hour_rp on delivery_hour (rp, hour);
-- next
-- What needs a person is found without reading what does not.
create index concurrently if not exists outbox_failed_mails on outbox (settled_at) where kind = 'mail' and state = 'failed';
-- next
create index concurrently if not exists invitation_expiring on invitation (expires_at) where state = 'Invited';
-- next
create index concurrently if not exists invitation_expired on invitation (decided_at) where state = 'Expired';
-- next
create index concurrently if not exists invitation_proposed on invitation (created_at) where state = 'Proposed';
