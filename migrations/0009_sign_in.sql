-- What is limited around signing in: tries at every door, and mails with registration links.

-- Tries of a kind: with a client's secret, with a person's password, or to have a link sent to a school.
alter table wrong_try add column kind text not null default 'secret';
drop index wrong_try_lookup;
create index wrong_try_client on wrong_try (kind, client, tried_at);
create index wrong_try_address on wrong_try (kind, address, tried_at);

-- Registration mails that were sent, each of which is recorded.
create index identity_audit_mail on identity_audit (estab, at) where operation in ('CreateLogin', 'CreateUser') and outcome = 'done';
