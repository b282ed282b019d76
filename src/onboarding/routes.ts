// In charge of the addresses of a school's own pages: coming in by a link, deciding, and seeing who reads what.
import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Opening } from '../access/scopes.ts';
import { uploadForm } from '../collection/uploads.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { renderCookie } from '../http/cookies.ts';
import { formToken } from '../http/form-token.ts';
import { acceptForms, readForm } from '../http/forms.ts';
import { usePageErrors } from '../http/page-error.ts';
import { redirect, sendPage } from '../http/page-reply.ts';
import { renderMessage } from '../http/pages/message.ts';
import { approve, change, changeScopes, decline, type Deciding } from './approve.ts';
import { askForLink } from './ask-link.ts';
import { endSession, openLink, type SchoolSession } from './links.ts';
import { findNotice, requireForm, requireSession, schoolCookie } from './page-request.ts';
import { renderApplication } from './pages/application.ts';
import { renderAskLink } from './pages/ask-link.ts';
import { renderHome } from './pages/home.ts';
import { renderAsked, renderRequest } from './pages/request.ts';
import { previewScopes } from './scope-preview.ts';
import { listApplications, listEntries, listReads, listRequests, requireApplication, requireRequest, requireSchool } from './school-view.ts';
import { approvedNotice, sourceRoutes, type SourcePages } from './source-routes.ts';
import { readSource } from '../collection/source-view.ts';
import { uploadByJobRoutes } from './upload-by-job.ts';

export type SchoolPages = SourcePages & { publicUrl: string; sendsMail: boolean; openings: readonly Opening[] };

const hidden = { schema: { hide: true } } as const;

export function schoolPageRoutes(app: FastifyInstance, pages: SchoolPages): void {
  const { db, sendsMail } = pages;
  app.register(async (scope) => {
    acceptForms(scope);
    usePageErrors(scope, { path: '/school/home', label: 'Back to your applications' });
    await scope.register(multipart, uploadForm(pages.uploads));
    scope.get('/school', hidden, async (_request, reply) => sendPage(reply, renderAskLink({ asked: false, sendsMail })));
    scope.post('/school', hidden, async (request, reply) => {
      await askForLink(db, request.ip, readForm(request).one('estab'));
      return sendPage(reply, renderAskLink({ asked: true, sendsMail }));
    });
    scope.get('/school/open/:token', hidden, async (request, reply) => open(pages, (request.params as { token: string }).token, reply));
    scope.get('/school/home', hidden, async (request, reply) => showHome(db, await requireSession(db, request), noticeOf(request, sendsMail), reply));
    scope.get('/school/requests/:id', hidden, async (request, reply) => showRequest(pages, await requireSession(db, request), request, reply));
    scope.post('/school/requests/:id', hidden, async (request, reply) => decide(pages, request, reply));
    scope.get('/school/applications/:rp', hidden, async (request, reply) => showApplication(pages, await requireSession(db, request), request, reply));
    scope.post('/school/applications/:rp', hidden, async (request, reply) => changeApplication(pages, request, reply));
    sourceRoutes(scope, pages);
    uploadByJobRoutes(scope, pages);
    scope.post('/school/sign-out', hidden, async (request, reply) => {
      const { session } = await requireForm(db, request);
      await endSession(db, session);
      return redirect(reply.header('set-cookie', renderCookie(schoolCookie, '', pages.publicUrl, 0)), '/school');
    });
  });
}

const deciding = ({ db, seal, publicUrl }: SchoolPages): Deciding => ({ db, seal, publicUrl });

const notices: Readonly<Record<string, string>> = {
  declined: 'Declined. The application is told nothing.',
  pause: 'Paused. From this moment nothing can be read, and messages that were waiting were stopped.',
  resume: 'Resumed.',
  revoke: 'Revoked. From this moment nothing can be read, and messages that were waiting were stopped.',
  scopes: 'Changed. It holds from this moment on.',
};

const noticeOf = (request: FastifyRequest, sendsMail: boolean) => findNotice(request, { ...notices, approved: approvedNotice(sendsMail) });

async function open({ db, publicUrl }: SchoolPages, token: string, reply: FastifyReply): Promise<FastifyReply> {
  const opened = await openLink(db, token);
  if (!opened)
    return sendPage(
      reply.code(404),
      renderMessage({
        title: 'This link does not open any more',
        text: 'It has expired, or your school has decided already. You can ask for a new link.',
        link: { path: '/school', label: 'Ask for a new link' },
      }),
    );
  reply.header('set-cookie', renderCookie(schoolCookie, opened.cookie, publicUrl, opened.seconds));
  return redirect(reply, opened.invitation ? `/school/requests/${opened.invitation}` : '/school/home');
}

async function showHome(db: Db, session: SchoolSession, notice: string | undefined, reply: FastifyReply): Promise<FastifyReply> {
  const { estab } = session;
  const [school, requests, applications, { databases, runs }] = await Promise.all([
    requireSchool(db, estab),
    listRequests(db, estab),
    listApplications(db, estab),
    readSource(db, estab),
  ]);
  return sendPage(reply, renderHome({ school, requests, applications, databases, runs, token: formToken(session.key), notice }));
}

async function showRequest(pages: SchoolPages, session: SchoolSession, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { db, openings, sendsMail } = pages;
  const { estab } = session;
  const asked = await requireRequest(db, estab, (request.params as { id: string }).id);
  const [school, required, optional] = await Promise.all([
    requireSchool(db, estab),
    previewScopes(db, estab, asked.required, openings),
    previewScopes(db, estab, asked.optional, openings),
  ]);
  return sendPage(reply, renderRequest({ school, request: asked, required, optional, sendsMail, token: formToken(session.key) }));
}

async function decide(pages: SchoolPages, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { session, form } = await requireForm(pages.db, request);
  const asked = await requireRequest(pages.db, session.estab, (request.params as { id: string }).id);
  const pair = { estab: session.estab, rp: asked.rp, invitation: asked.id, actor: 'school' as const };
  const decision = form.one('decision');
  if (decision === 'decline') {
    await decline(deciding(pages), pair);
    return redirect(reply, '/school/home?done=declined');
  }
  if (decision !== 'approve') throw new SchoolbellError('invalid_request', 'Choose to approve or to decline.');
  if (form.one('asked') !== renderAsked(asked))
    throw new SchoolbellError(
      'conflict',
      'The application has changed what it asks for since you opened the page. Go back, reload it, and decide about what it asks for now.',
    );
  // What was granted before stays granted: a request for more is no way to lose what there was.
  const scopes = [
    ...asked.required,
    ...asked.optional.filter((scope) => form.all('scopes').includes(scope)),
    ...asked.granted.filter((scope) => !asked.required.includes(scope) && !asked.optional.includes(scope)),
  ];
  await approve(deciding(pages), { ...pair, scopes: scopes.join(',') });
  const { connector } = await requireSchool(pages.db, session.estab);
  return redirect(reply, connector === null ? '/school/source?done=approved' : '/school/home?done=approved');
}

async function showApplication(pages: SchoolPages, session: SchoolSession, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { db, openings, sendsMail } = pages;
  const { estab } = session;
  const application = await requireApplication(db, estab, (request.params as { rp: string }).rp);
  const [school, scopes, entries, reads] = await Promise.all([
    requireSchool(db, estab),
    previewScopes(db, estab, [...new Set([...application.required, ...application.optional, ...application.scopes])], openings),
    listEntries(db, estab, application.rp),
    listReads(db, estab, application.rp),
  ]);
  const notice = noticeOf(request, sendsMail);
  return sendPage(reply, renderApplication({ school, application, scopes, entries, reads, token: formToken(session.key), notice }));
}

async function changeApplication(pages: SchoolPages, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { session, form } = await requireForm(pages.db, request);
  const { rp } = request.params as { rp: string };
  const pair = { estab: session.estab, rp, actor: 'school' as const };
  const action = form.one('action');
  if (action === 'scopes') await changeScopes(deciding(pages), { ...pair, scopes: form.all('scopes') });
  else if (action === 'pause' || action === 'resume' || action === 'revoke') await change(deciding(pages), action, pair).catch(inPlainWords);
  else throw new SchoolbellError('invalid_request', 'Choose what to do.');
  return redirect(reply, `/school/applications/${encodeURIComponent(rp)}?done=${action}`);
}

/** The words of the command line are for the operator. */
function inPlainWords(error: unknown): never {
  throw error instanceof SchoolbellError && error.code === 'conflict'
    ? new SchoolbellError('conflict', 'The application is not authorised any more; it would have to ask you again.')
    : error;
}
