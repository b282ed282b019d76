-- outside a transaction
-- The check of its foreign key reads the rows of a lane that is deleted, whatever their state.
create index concurrently if not exists outbox_lane on outbox (lane);
-- next
-- What may be purged is found without reading what stays.
create index concurrently if not exists roster_academic_session_gone on roster_academic_session (estab, version) where status = 'tobedeleted';
-- next
create index concurrently if not exists roster_class_gone on roster_class (estab, version) where status = 'tobedeleted';
-- next
create index concurrently if not exists roster_course_gone on roster_course (estab, version) where status = 'tobedeleted';
-- next
create index concurrently if not exists roster_demographics_gone on roster_demographics (estab, version) where status = 'tobedeleted';
-- next
create index concurrently if not exists roster_enrollment_gone on roster_enrollment (estab, version) where status = 'tobedeleted';
-- next
create index concurrently if not exists roster_org_gone on roster_org (estab, version) where status = 'tobedeleted';
-- next
create index concurrently if not exists roster_user_gone on roster_user (estab, version) where status = 'tobedeleted';
