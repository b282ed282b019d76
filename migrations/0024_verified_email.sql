-- To which address a registration link was mailed, and which one its person was thereby reached at.
alter table registration_link add column email text;
alter table login add column verified_email text;
