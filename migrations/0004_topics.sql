-- Whether something newer was said on a topic is asked whenever a call on it failed.
create index outbox_newer on outbox (estab, topic, created_at) where topic is not null;
