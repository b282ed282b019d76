-- The keys that 0046 made ready take the place of the hash alone, which the version before can do without: tables of a moment's size.
alter table school_link drop constraint school_link_pkey, add constraint school_link_pkey primary key using index school_link_key;
alter table school_session drop constraint school_session_pkey, add constraint school_session_pkey primary key using index school_session_key;
alter table login_session drop constraint login_session_pkey, add constraint login_session_pkey primary key using index login_session_key;
alter table registration_link drop constraint registration_link_pkey, add constraint registration_link_pkey primary key using index registration_link_key;
