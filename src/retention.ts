// In charge of what is kept and for how long: one row for each kind of thing, with what ends it. `forget` walks the table,
// and docs/what-is-kept.md shows it.
import { forgetAuditTrail, forgetLooksAt } from './access/audit-trail.ts';
import { forgetDisclosures } from './access/disclosures.ts';
import { forgetRequestHours, forgetRequestLines } from './access/requests.ts';
import { forgetSecrets } from './access/secrets.ts';
import { forgetUploadTokens } from './access/upload-tokens.ts';
import { forgetOldCounts } from './access/wrong-tries.ts';
import { forgetBackupRuns } from './backup/runs.ts';
import { forgetDemo, forgetDemoMarksOf } from './collection/connectors/demo/forget-demo.ts';
import { forgetMarksOf, forgetReportsOf, forgetTouchesOf } from './collection/forget-people.ts';
import { forgetImportEnds, forgetReplacedMarks, forgetReports } from './collection/forget-reports.ts';
import { forgetVersions } from './collection/forget-versions.ts';
import { forgetHistory, forgetPurgedHistory, historyTable } from './collection/history.ts';
import { stageTable } from './collection/stage.ts';
import { forgetUploads } from './collection/uploads.ts';
import { forgetProcesses } from './db/service-versions.ts';
import { forgetAudited, forgetExpiredRecords, forgetExpiredSessions } from './identity/audit.ts';
import { forgetAuditedOf, forgetLoginsOf } from './identity/forget-people.ts';
import { forgetProviderKeys } from './identity/oidc/keys.ts';
import { forgetLeftDevelopers } from './operators/developers.ts';
import type { Kept } from './kept.ts';
import { forgetConsoleSessions } from './operators/sessions.ts';
import { forgetInvitations } from './onboarding/invitations.ts';
import { forgetLinks } from './onboarding/links.ts';
import { forgetInboxCalls } from './notifications/inbox/calls.ts';
import { forgetDeliveryHours } from './outbox/delivery-hours.ts';
import { forgetDeliveriesOf } from './outbox/forget-deliveries.ts';
import { forgetSettled } from './outbox/lane-end.ts';
import { tallyOutbox } from './outbox/tally.ts';
import { allResources } from './roster/collections.ts';
import { forgetVersionNames } from './rostering/pin.ts';
import { forgetFaults } from './sandbox/faults.ts';
import { forgetWaits } from './schooldata/availability.ts';
import { forgetOutcomesOf, forgetWritebacks } from './schooldata/forget-writebacks.ts';

const setting = 'the operator, by `PURGE_AFTER_DAYS`';
const school = 'the operator, by `school remove`';
const nobody = 'nobody';

/** Of people first, in the order in which whoever writes marks locks it: marks, how databases stand, lanes, work. */
export const retention: readonly Kept[] = [
  {
    what: 'Rosters: people, classes, enrolments and what is counted of them',
    where: [...allResources.map(({ table }) => table), 'roster', 'roster_standing', 'roster_total', 'roster_milestone', 'roster_touch'],
    ends: { until: 'while the source has it, then `PURGE_AFTER_DAYS`, and longer only while something that stays refers to it' },
    purged: { words: 'goes', forget: () => forgetTouchesOf },
    less: setting,
  },
  {
    what: 'What rosters were: records as they stood before they changed, and where they came from',
    where: allResources.map(historyTable),
    ends: { days: 30, after: 'they were replaced', namesPeople: true, forgetAt: forgetHistory, forget: forgetPurgedHistory },
    purged: { words: 'goes an hour later, when whoever reads page by page has ended, with the versions in which they stood' },
    less: setting,
  },
  {
    what: 'Names of versions of several schools at once',
    where: ['roster_version_set'],
    ends: { days: 1, after: 'they were last given', namesPeople: false, forget: forgetVersionNames },
    less: nobody,
  },
  {
    what: 'What an import stages, until it is merged: in its transaction, or in files without a name that end with the process',
    where: [...allResources.map(stageTable), 'stage_rejected', 'stage_fault', 'stage_change', 'stage_mark'],
    ends: { until: 'while it is merged' },
    less: nobody,
  },
  {
    what: 'When each version of a roster or of marks came to be',
    where: ['roster_version', 'attendance_version'],
    ends: { days: 'purge', after: 'it, and longer while a record or mark is dated by it', namesPeople: false, forgetAt: forgetVersions },
    less: setting,
  },
  {
    what: 'Attendance marks',
    where: ['attendance_mark'],
    ends: { until: 'as long as the pupil is in the roster: which years there are is for the MIS to say' },
    purged: { words: 'go', forget: () => forgetMarksOf },
    less: setting,
  },
  {
    what: 'Marks that were replaced, with by whom; the way back of `writeback undo`',
    where: ['attendance_history'],
    ends: { days: 'purge', after: 'they were replaced', namesPeople: true, forgetAt: forgetReplacedMarks },
    purged: { words: 'go' },
    less: setting,
  },
  {
    what: 'Writebacks with their outcome for each mark (whom to call, the `Idempotency-Key` and its faults: one day)',
    where: ['writeback', 'writeback_mark'],
    ends: { days: 'purge', after: 'they ended', namesPeople: true, forgetAt: forgetWritebacks },
    purged: { words: 'numbers stay; notes go, and the pupil’s id becomes a keyed hash', search: forgetOutcomesOf },
    less: setting,
  },
  {
    what: 'Requests that waited for data',
    where: ['availability_wait'],
    ends: { days: 7, after: 'they ended', namesPeople: true, forget: forgetWaits },
    purged: { words: 'go, if their URL names the person' },
    less: setting,
  },
  {
    what: 'Marks and answers of the demo’s MIS',
    where: ['demo_mark', 'demo_write'],
    ends: { days: 60, after: 'their day (of the day that the reference has examples of: never)', namesPeople: false, forgetAt: forgetDemo },
    purged: { words: 'marks go', forget: () => forgetDemoMarksOf },
    less: nobody,
  },
  {
    what: 'What the sandbox does to applications of the demo',
    where: ['sandbox_fault'],
    ends: { days: 1, after: 'it ended', namesPeople: false, forget: forgetFaults },
    less: 'whoever rehearses, by `sandbox reset`',
  },
  {
    what: 'Calls, mails and other work, with bodies, attempts and answers',
    where: ['outbox', 'outbox_attempt', 'lane'],
    ends: { days: 30, after: 'they were settled (the text of a mail: until it is sent)', namesPeople: true, forget: forgetSettled },
    purged: { words: 'go, if they name the person', search: () => forgetDeliveriesOf },
    less: setting,
  },
  {
    what: 'Calls that came into inboxes, sealed (their newest 100, of each 64 KiB)',
    where: ['inbox_call'],
    ends: { days: 7, after: 'they came', namesPeople: true, forget: forgetInboxCalls },
    less: 'whoever looks after the inbox, by emptying it',
  },
  {
    what: 'Reports of imports, which show values of rows that were wrong (all of those rows: of the last 20 imports), and which package each was of',
    where: ['import_run', 'import_end', 'import_fault', 'upload_receipt'],
    ends: { days: 'purge', after: 'the import', namesPeople: true, forgetAt: forgetReports, forget: forgetImportEnds },
    purged: { words: 'stay without the values that name the person', search: () => forgetReportsOf },
    less: setting,
  },
  {
    what: 'Who would go with an import that is held',
    where: ['import_loss'],
    ends: { until: 'until it is approved, discarded or replaced, and no longer than its report' },
    purged: { words: 'is gone by then: an import that removes anybody from the roster takes its place' },
    less: 'the school, by deciding',
  },
  {
    what: 'Uploaded packages',
    where: ['upload', 'upload_piece'],
    ends: { days: 30, after: 'the upload, if it is held; else until they are imported', namesPeople: true, forgetAt: forgetUploads },
    less: 'the school, by approving, discarding or uploading another',
  },
  {
    what: 'Logins with the hash of the password',
    where: ['login'],
    ends: { until: 'as long as the person is in the roster' },
    purged: { words: 'go, with all that opens them', forget: () => forgetLoginsOf },
    less: setting,
  },
  {
    what: 'Sessions, registration links and tokens of people',
    where: ['login_session', 'registration_link', 'oidc_record'],
    ends: { until: 'until they expire: 12 hours, a link 3 days', forgetAt: forgetExpiredSessions, forget: forgetExpiredRecords },
    purged: { words: 'go' },
    less: 'the person, by signing out',
  },
  {
    what: 'The record of identity operations and sign-ins',
    where: ['identity_audit'],
    ends: { days: 365, after: 'the operation', namesPeople: false, forget: forgetAudited },
    purged: { words: 'stays about a keyed hash', forget: forgetAuditedOf },
    less: school,
  },
  {
    what: 'People whom an application added by hand (`CreateUser`)',
    where: ['manual_user'],
    ends: { until: 'as long as the school: no source says when they leave' },
    less: school,
  },
  {
    what: 'Invitations that were decided or have expired',
    where: ['invitation'],
    ends: { days: 365, after: 'that', namesPeople: false, forget: forgetInvitations },
    less: school,
  },
  {
    what: 'What applications have read: numbers and fields by day',
    where: ['disclosure'],
    ends: { days: 365, after: 'the day', namesPeople: false, forgetAt: forgetDisclosures },
    less: nobody,
  },
  {
    what: 'The school’s decisions on applications, removed ones included',
    where: ['authorisation_event', 'past_decision'],
    ends: { until: 'as long as the school: they are its record, and name no pupil' },
    less: school,
  },
  {
    what: 'Links and sessions of a school',
    where: ['school_link', 'school_session'],
    ends: { until: 'until they expire: a link 30 days, a session 12 hours', forgetAt: forgetLinks },
    less: 'the school, by signing out',
  },
  {
    what: 'Requests to the API, without the ids in them: by whom, what, how it ended',
    where: ['request_line'],
    ends: { days: 7, after: 'them, or after 50,000 more of the same application', namesPeople: true, forget: forgetRequestLines },
    less: nobody,
  },
  {
    what: 'How many requests there were in each hour, by application',
    where: ['request_hour'],
    ends: { days: 400, after: 'it', namesPeople: false, forget: forgetRequestHours },
    less: nobody,
  },
  {
    what: 'How many deliveries there were in each hour, by application',
    where: ['delivery_hour'],
    ends: { days: 400, after: 'it', namesPeople: false, forget: forgetDeliveryHours },
    less: nobody,
  },
  {
    what: 'What operators did and looked at, under the names they signed in with',
    where: ['audit_event'],
    ends: { days: 365, after: 'it', namesPeople: false, forget: forgetAuditTrail },
    purged: { words: 'stays about a keyed hash', forget: forgetLooksAt },
    less: nobody,
  },
  {
    what: 'Sessions of the console, and links of its invitations',
    where: ['console_session', 'console_link'],
    ends: { until: 'until they expire: a session 12 hours, a link 7 days', forget: forgetConsoleSessions },
    less: 'the operator, by signing out',
  },
  {
    what: 'Developers of applications: whose they are, and their accounts',
    where: ['console_developer'],
    ends: { until: 'until they are removed, or the last of their applications', forget: forgetLeftDevelopers },
    less: 'the operator or a colleague, by `developer remove`',
  },
  {
    what: 'How many deliveries there were, by kind and outcome',
    where: ['outbox_tally'],
    ends: { until: '1 day', forget: tallyOutbox },
    less: nobody,
  },
  {
    what: 'Wrong tries, how often a credential was used, and how often an address searched the reference',
    where: ['wrong_try', 'request_count'],
    ends: { until: '10 minutes', forget: forgetOldCounts },
    less: nobody,
  },
  {
    what: 'Secrets that were replaced (as hashes, signing secrets sealed)',
    where: ['application_secret', 'school_secret'],
    ends: { days: 30, after: 'they ended', namesPeople: false, forget: forgetSecrets },
    less: nobody,
  },
  {
    what: 'Upload tokens of schools (as hashes), with who made and who ended each',
    where: ['upload_token'],
    ends: { days: 365, after: 'they were replaced or removed', namesPeople: false, forgetAt: forgetUploadTokens },
    less: school,
  },
  {
    what: 'Keys that sign',
    where: ['token_key', 'provider_key'],
    ends: { until: 'until what they signed has expired; public halves of token keys stay, to tell old tokens from forged ones', forget: forgetProviderKeys },
    less: 'the operator, by `keys rotate --now`',
  },
  {
    what: 'Which backups the plan has made, and what became of each',
    where: ['backup_run'],
    ends: { days: 365, after: 'its file is gone', namesPeople: false, forget: forgetBackupRuns },
    less: nobody,
  },
  {
    what: 'Which version each process is of',
    where: ['service_process'],
    ends: { days: 1, after: 'it was last seen', namesPeople: false, forget: forgetProcesses },
    less: nobody,
  },
  {
    what: 'Records of erasures: what went, how much and when, not whose',
    where: ['erasure'],
    ends: { until: 'for good: they show that it was done, and name nobody' },
    less: nobody,
  },
  {
    what: 'Schools, applications, authorisations, registrations and operators, how each is set up and how its data stands; the plan of backups',
    where: [
      'establishment', 'component_database', 'reading', 'connector_setting', 'application', 'authorisation', 'webhook', 'inbox', 'migration', 'chore',
      'console_account', 'console_rule', 'service_version', 'backup_plan',
    ],
    ends: { until: 'until they are removed' },
    less: 'the operator, by `school remove`, `application remove`, `operator remove` and `backup --stop`',
  },
];
