-- What the last merge took, where the same files need not be read again: which reading and version that was, by which version of the
-- product, and digests of the files. It holds as long as none of those has moved.
alter table reading add column taken jsonb;
