-- What is wrong with a row stands beside it, so that what follows from it are statements of their own.
alter table stage_rejected add column about text;
alter table stage_rejected add column rule text;
