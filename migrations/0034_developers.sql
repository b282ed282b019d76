-- Developers of an application come to the console as well, and see that application alone.
alter table console_account drop constraint console_account_role_check, add constraint console_account_role_check check (role in ('admin', 'viewer', 'developer'));

-- Whose developer somebody is; one person may be that of several applications.
create table console_developer (
  account uuid not null references console_account on delete cascade,
  rp text collate "C" not null references application on delete cascade,
  added_at timestamptz not null default now(),
  added_by text not null,
  primary key (account, rp)
);
create index console_developer_rp on console_developer (rp);
