// In charge of where each table lies when the database is spread over several nodes: one row for each. `distribute` does what it says,
// and the tests hold the schema and every statement of the product against it.

/**
 * school: on the node of the establishment that the row belongs to, with all else of that school. Each statement is about one school
 * and compares every such table with it as a value, so that it runs on one node, of one snapshot.
 * everywhere: a copy on every node, for what is asked at every call and seldom changes.
 * coordinator: where statements arrive, for what is asked over all schools. No statement has one of these and one of a school's.
 */
export type Place = 'school' | 'everywhere' | 'coordinator';

const places: Readonly<Record<Place, readonly string[]>> = {
  school: [
    'roster', 'roster_version', 'roster_total', 'roster_milestone', 'roster_touch',
    'roster_org', 'roster_academic_session', 'roster_course', 'roster_class', 'roster_user', 'roster_enrollment', 'roster_demographics',
    'roster_org_history', 'roster_academic_session_history', 'roster_course_history', 'roster_class_history', 'roster_user_history',
    'roster_enrollment_history', 'roster_demographics_history',
    'stage_org', 'stage_academic_session', 'stage_course', 'stage_class', 'stage_user', 'stage_enrollment', 'stage_demographics',
    'stage_rejected', 'stage_fault', 'stage_change', 'stage_mark', 'reading',
    'import_run', 'import_fault', 'import_loss', 'upload', 'upload_piece', 'upload_receipt', 'upload_token',
    'attendance_mark', 'attendance_history', 'attendance_version', 'writeback', 'writeback_mark', 'demo_mark', 'demo_write',
    'login', 'login_session', 'registration_link', 'manual_user',
    'school_link', 'school_session', 'disclosure',
  ],
  everywhere: ['establishment', 'application', 'application_secret', 'authorisation', 'school_secret'],
  coordinator: [
    'outbox', 'outbox_attempt', 'outbox_tally', 'lane', 'delivery_hour', 'webhook', 'inbox', 'inbox_call', 'availability_wait',
    'component_database', 'connector_setting', 'roster_standing', 'roster_version_set', 'import_end', 'invitation',
    'authorisation_event', 'past_decision', 'identity_audit',
    'request_line', 'request_hour', 'request_count', 'wrong_try', 'audit_event', 'erasure', 'sandbox_fault',
    'console_account', 'console_developer', 'console_link', 'console_rule', 'console_session', 'oidc_record', 'token_key', 'provider_key',
    'migration', 'chore', 'service_process', 'service_version', 'backup_plan', 'backup_run',
  ],
};

export const placements: ReadonlyMap<string, Place> = new Map(
  (Object.keys(places) as Place[]).flatMap((place) => places[place].map((table) => [table, place] as const)),
);

export const tablesAt = (place: Place): readonly string[] => places[place];
