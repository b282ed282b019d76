// In charge of the addresses of the console: every page, and every action with its name in the audit trail.
import multipart from '@fastify/multipart';
import type { FastifyInstance } from 'fastify';
import { uploadForm } from '../collection/uploads.ts';
import { acceptForms } from '../http/forms.ts';
import { usePageErrors } from '../http/page-error.ts';
import { accountActions, accountPage } from './accounts/account.ts';
import { demoEntryRoutes } from './accounts/demo-entry.ts';
import { factorActions, factorPage } from './accounts/factor-page.ts';
import { forgottenRoutes } from './accounts/forgotten.ts';
import { invitedRoutes } from './accounts/invited.ts';
import { operatorActions, operatorPage } from './accounts/operator.ts';
import { operatorsActions, operatorsPage } from './accounts/operators.ts';
import { secondFactorRoutes } from './accounts/second-factor.ts';
import { applicationDeliveriesPage, deliveriesPage, replayFailedAction, replayFailedOfApplicationAction } from './deliveries/list.ts';
import { applicationDeliveryPage, deliveryPage, replayAction, replayOfApplicationAction } from './deliveries/delivery.ts';
import { applicationTailPage, tailPage } from './deliveries/tail.ts';
import { applicationTargetPage, targetActions, targetOfApplicationActions, targetPage } from './deliveries/target.ts';
import { applicationTargetsPage, targetsPage } from './deliveries/targets.ts';
import { applicationPage } from './applications/application.ts';
import { endOldSecretAction, rotateSecretAction, secretPage } from './applications/credentials.ts';
import { developersActions, developersPage } from './applications/developers.ts';
import { inboxDoor } from './applications/inbox-door.ts';
import { editInboxAction, endingInboxActions, inboxPage } from './applications/inbox.ts';
import { inboxCallPage, revealCallAction } from './applications/inbox-call.ts';
import { addInboxAction, inboxesPage } from './applications/inboxes.ts';
import { confirmCallbackAction, editApplicationAction, editApplicationPage } from './applications/edit.ts';
import { applicationsPage } from './applications/list.ts';
import { newApplicationAction, newApplicationPage } from './applications/new.ts';
import { removeApplicationAction, removeApplicationPage } from './applications/remove.ts';
import { applicationRequestsPage } from './applications/requests.ts';
import { sandboxActions, sandboxPage } from './applications/sandbox.ts';
import { applicationSchoolsPage, inviteSchoolAction } from './applications/schools.ts';
import { applicationWebhooksPage } from './applications/webhooks.ts';
import { tryAction, tryPage } from './applications/try/page.ts';
import { overviewPage } from './overview/overview.ts';
import { attendancePage } from './roster/attendance.ts';
import { historyPage } from './roster/history.ts';
import { recordPage } from './roster/record.ts';
import { searchPage } from './roster/search.ts';
import { addApplicationPage } from './schools/add-application.ts';
import { schoolAuditPage } from './schools/audit.ts';
import { editSchoolAction, editSchoolPage } from './schools/edit.ts';
import { grantActions } from './schools/grant-actions.ts';
import { grantPage } from './schools/grant.ts';
import { schoolsPage } from './schools/list.ts';
import { addSchoolAction, newSchoolPage } from './schools/new.ts';
import { loginActions, loginsPage } from './schools/logins.ts';
import { removeSchoolAction, removeSchoolPage } from './schools/remove.ts';
import { schoolActions } from './schools/school-actions.ts';
import { schoolPage } from './schools/school.ts';
import { uploadTokenActions, uploadTokenPage } from './schools/upload-token.ts';
import { approveHeldAction, discardHeldAction, heldPage } from './schools/source/held.ts';
import { importPage, importsPage, problemsPage } from './schools/source/imports.ts';
import { collectAction, demoModeAction, saveSourceAction, testSourceAction } from './schools/source/source-actions.ts';
import { sourcePage } from './schools/source/source.ts';
import { uploadAction, uploadPage } from './schools/source/upload.ts';
import { noConsole, servePages } from './serve.ts';
import { auditCsvPage, auditPage } from './service/audit.ts';
import { backUpNowAction, backupsPage } from './service/backups.ts';
import { mailListPage } from './service/mail-list.ts';
import { mailPage, openMailAction, sendMailAction } from './service/one-mail.ts';
import { retryWorkAction, workPage } from './service/one-work.ts';
import { rotateKeysAction, settingsPage } from './service/settings.ts';
import { workListPage } from './service/work-list.ts';
import { signInRoutes } from './sign-in.ts';
import type { Action, ConsoleParts, Page } from './visit.ts';

export const pages: readonly Page[] = [
  overviewPage,
  accountPage, factorPage, operatorsPage, operatorPage,
  schoolsPage, newSchoolPage, schoolPage, editSchoolPage, addApplicationPage, grantPage, uploadTokenPage, loginsPage, schoolAuditPage, removeSchoolPage,
  sourcePage, uploadPage, importsPage, importPage, problemsPage, heldPage,
  mailListPage, mailPage, workListPage, workPage, backupsPage, settingsPage, auditPage, auditCsvPage,
  deliveriesPage, deliveryPage, tailPage, targetsPage, targetPage,
  searchPage, recordPage, historyPage, attendancePage,
  applicationsPage, newApplicationPage, applicationPage, editApplicationPage, removeApplicationPage, applicationSchoolsPage,
  applicationWebhooksPage, applicationRequestsPage, secretPage,
  applicationDeliveriesPage, applicationTailPage, applicationDeliveryPage, applicationTargetsPage, applicationTargetPage,
  developersPage,
  inboxesPage, inboxPage, inboxCallPage, tryPage, sandboxPage,
];

export const actions: readonly Action[] = [
  ...accountActions, ...factorActions, ...operatorsActions, ...operatorActions,
  addSchoolAction, editSchoolAction, ...schoolActions, ...grantActions, ...uploadTokenActions, ...loginActions, removeSchoolAction,
  saveSourceAction, testSourceAction, collectAction, demoModeAction, uploadAction, approveHeldAction, discardHeldAction,
  openMailAction, sendMailAction, retryWorkAction, rotateKeysAction, backUpNowAction,
  replayFailedAction, replayAction, ...targetActions,
  newApplicationAction, editApplicationAction, confirmCallbackAction, removeApplicationAction, inviteSchoolAction, rotateSecretAction, endOldSecretAction,
  replayFailedOfApplicationAction, replayOfApplicationAction, ...targetOfApplicationActions,
  ...developersActions,
  addInboxAction, editInboxAction, revealCallAction, ...endingInboxActions, tryAction, ...sandboxActions,
];

export function consoleRoutes(app: FastifyInstance, parts: ConsoleParts): void {
  app.register(async (scope) => {
    acceptForms(scope);
    await scope.register(multipart, uploadForm(parts.uploads));
    usePageErrors(scope, (_request, { message }) =>
      message === noConsole ? { path: '/', label: 'To the start page' } : { path: '/console', label: 'To the overview' });
    signInRoutes(scope, parts);
    secondFactorRoutes(scope, parts);
    invitedRoutes(scope, parts);
    forgottenRoutes(scope, parts);
    demoEntryRoutes(scope, parts);
    servePages(scope, parts, pages, actions);
  });
  app.register(async (scope) => inboxDoor(scope, parts));
}
