// In charge of the addresses of a school's own pages: coming in by a link, deciding, seeing who reads what, and setting
// up where the data comes from.
import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Seal } from '../access/seal.ts';
import { requestCollection } from '../collection/component-databases.ts';
import { MisError } from '../collection/connector.ts';
import { requireUsableSetup, setConnector, type ConnectorSetup } from '../collection/connector-settings.ts';
import { testProvider } from '../collection/connectors/oneroster/oneroster-connector.ts';
import { findHeldUpload, largestUpload, longestUploadMs, takeUpload, type UploadLimits } from '../collection/uploads.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { BlockedTarget } from '../http/address-guard.ts';
import { renderCookie } from '../http/cookies.ts';
import { formToken, requireFormToken } from '../http/form-token.ts';
import { acceptForms, readForm } from '../http/forms.ts';
import type { Outbound } from '../http/outbound.ts';
import { usePageErrors } from '../http/page-error.ts';
import { redirect, sendPage } from '../http/page-reply.ts';
import { renderMessage } from '../http/pages/message.ts';
import type { Query } from '../http/query.ts';
import { approve, change, changeScopes, decline, type Deciding } from './approve.ts';
import { askForLink } from './ask-link.ts';
import { endSession, openLink, type SchoolSession } from './links.ts';
import { requireForm, requireSession, schoolCookie } from './page-request.ts';
import { renderApplication } from './pages/application.ts';
import { renderAskLink } from './pages/ask-link.ts';
import { renderHome } from './pages/home.ts';
import { renderAsked, renderRequest } from './pages/request.ts';
import { renderSource } from './pages/source.ts';
import { previewScopes } from './scope-preview.ts';
import { listApplications, listEntries, listReads, listRequests, readSource, requireApplication, requireRequest, requireSchool } from './school-view.ts';
import { uploadByJobRoutes } from './upload-by-job.ts';

export type SchoolPages = { db: Db; seal: Seal; publicUrl: string; providers: Outbound; uploads: UploadLimits };

const hidden = { schema: { hide: true } } as const;
/** A provider is asked for a first page before it is saved. */
const longestTrialMs = 150_000;

export function schoolPageRoutes(app: FastifyInstance, pages: SchoolPages): void {
  const { db } = pages;
  app.register(async (scope) => {
    acceptForms(scope);
    usePageErrors(scope, { path: '/school/home', label: 'Back to your applications' });
    // One byte more than is taken, so that what is too large can be told from what is cut.
    await scope.register(multipart, { limits: { fileSize: (pages.uploads.largest ?? largestUpload) + 1, files: 1, fields: 10 } });
    scope.get('/school', hidden, async (_request, reply) => sendPage(reply, renderAskLink({ sent: false })));
    scope.post('/school', hidden, async (request, reply) => {
      await askForLink(db, request.ip, readForm(request).one('estab'));
      return sendPage(reply, renderAskLink({ sent: true }));
    });
    scope.get('/school/open/:token', hidden, async (request, reply) => open(pages, (request.params as { token: string }).token, reply));
    scope.get('/school/home', hidden, async (request, reply) => showHome(db, await requireSession(db, request), noticeOf(request), reply));
    scope.get('/school/requests/:id', hidden, async (request, reply) => showRequest(db, await requireSession(db, request), request, reply));
    scope.post('/school/requests/:id', hidden, async (request, reply) => decide(pages, request, reply));
    scope.get('/school/applications/:rp', hidden, async (request, reply) => showApplication(db, await requireSession(db, request), request, reply));
    scope.post('/school/applications/:rp', hidden, async (request, reply) => changeApplication(pages, request, reply));
    scope.get('/school/source', hidden, async (request, reply) => showSource(db, await requireSession(db, request), noticeOf(request), undefined, reply));
    scope.post('/school/source/upload', { ...hidden, config: { longestMs: longestUploadMs } }, async (request, reply) => upload(pages, request, reply));
    scope.post('/school/source/provider', { ...hidden, config: { longestMs: longestTrialMs } }, async (request, reply) => setProvider(pages, request, reply));
    uploadByJobRoutes(scope, pages);
    scope.post('/school/source/approve', hidden, async (request, reply) => approveHeld(db, request, reply));
    scope.post('/school/source/refresh', hidden, async (request, reply) => refresh(db, request, reply));
    scope.post('/school/sign-out', hidden, async (request, reply) => {
      const { session } = await requireForm(db, request);
      await endSession(db, session);
      return redirect(reply.header('set-cookie', renderCookie(schoolCookie, '', pages.publicUrl, 0)), '/school');
    });
  });
}

const deciding = ({ db, seal, publicUrl }: SchoolPages): Deciding => ({ db, seal, publicUrl });

const notices: Readonly<Record<string, string>> = {
  approved: 'Approved. A receipt was sent to the address of your school.',
  declined: 'Declined. The application is told nothing.',
  pause: 'Paused. From this moment nothing can be read, and messages that were waiting were stopped.',
  resume: 'Resumed.',
  revoke: 'Revoked. From this moment nothing can be read, and messages that were waiting were stopped.',
  scopes: 'Changed. It holds from this moment on.',
  uploaded: 'Your package was received.',
  connected: 'Connected. The first collection has begun.',
  refresh: 'Your data is being collected again.',
};

/** Only words of our own are shown, whatever the address says. */
function noticeOf(request: FastifyRequest): string | undefined {
  const [done = ''] = (request.query as Query).done ?? [];
  return Object.hasOwn(notices, done) ? notices[done] : undefined;
}

async function open({ db, publicUrl }: SchoolPages, token: string, reply: FastifyReply): Promise<FastifyReply> {
  const opened = await openLink(db, token);
  if (!opened)
    return sendPage(
      reply.code(404),
      renderMessage({
        title: 'This link does not open any more',
        text: 'It has expired, or your school has decided already. You can have a new link sent to the address of your school.',
        link: { path: '/school', label: 'Ask for a new link' },
      }),
    );
  reply.header('set-cookie', renderCookie(schoolCookie, opened.cookie, publicUrl, opened.seconds));
  return redirect(reply, opened.invitation ? `/school/requests/${opened.invitation}` : '/school/home');
}

async function showHome(db: Db, session: SchoolSession, notice: string | undefined, reply: FastifyReply): Promise<FastifyReply> {
  const { estab } = session;
  const [school, requests, applications, { databases }] = await Promise.all([
    requireSchool(db, estab),
    listRequests(db, estab),
    listApplications(db, estab),
    readSource(db, estab),
  ]);
  return sendPage(reply, renderHome({ school, requests, applications, databases, token: formToken(session.key), notice }));
}

async function showRequest(db: Db, session: SchoolSession, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { estab } = session;
  const asked = await requireRequest(db, estab, (request.params as { id: string }).id);
  const [school, required, optional] = await Promise.all([
    requireSchool(db, estab),
    previewScopes(db, estab, asked.required),
    previewScopes(db, estab, asked.optional),
  ]);
  return sendPage(reply, renderRequest({ school, request: asked, required, optional, token: formToken(session.key) }));
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

async function showApplication(db: Db, session: SchoolSession, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { estab } = session;
  const application = await requireApplication(db, estab, (request.params as { rp: string }).rp);
  const [school, scopes, entries, reads] = await Promise.all([
    requireSchool(db, estab),
    previewScopes(db, estab, [...application.required, ...application.optional]),
    listEntries(db, estab, application.rp),
    listReads(db, estab, application.rp),
  ]);
  return sendPage(reply, renderApplication({ school, application, scopes, entries, reads, token: formToken(session.key), notice: noticeOf(request) }));
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

async function showSource(
  db: Db,
  session: SchoolSession,
  notice: string | undefined,
  refused: { problem: string; given: { url: string; tokenUrl: string; clientId: string } } | undefined,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const [school, source] = await Promise.all([requireSchool(db, session.estab), readSource(db, session.estab)]);
  const page = renderSource({ school, ...source, token: formToken(session.key), notice, problem: refused?.problem, given: refused?.given });
  return sendPage(refused === undefined ? reply : reply.code(422), page);
}

/** The token stands in the address: a file may come before any field. */
async function upload({ db, uploads }: SchoolPages, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const session = await requireSession(db, request);
  requireFormToken(session.key, (request.query as Query).token?.[0]);
  const { connector } = await requireSchool(db, session.estab);
  if (connector !== null && connector !== 'csv')
    throw new SchoolbellError('conflict', `Your data comes through ${connector}; a package would be undone by the next collection.`);
  const file = await request.file();
  if (!file) throw new SchoolbellError('invalid_request', 'Choose the zip that your MIS has exported.');
  await takeUpload(db, session.estab, file.file, uploads);
  return redirect(reply, '/school/source?done=uploaded');
}

async function setProvider({ db, seal, providers }: SchoolPages, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { session, form } = await requireForm(db, request);
  const setup: ConnectorSetup = {
    kind: 'oneroster',
    url: form.one('url'),
    tokenUrl: form.one('tokenUrl') || undefined,
    clientId: form.one('clientId'),
    clientSecret: form.one('clientSecret'),
  };
  try {
    await requireUsableSetup(setup);
    await testProvider({ ...setup, state: {}, outbound: providers });
  } catch (error) {
    if (!(error instanceof MisError || error instanceof BlockedTarget || error instanceof SchoolbellError)) throw error;
    return showSource(
      db,
      session,
      undefined,
      { problem: `Nothing was saved: ${error.message}`, given: { url: setup.url, tokenUrl: form.one('tokenUrl'), clientId: setup.clientId } },
      reply,
    );
  }
  await db.begin((tx) => setConnector(tx, seal, session.estab, setup));
  return redirect(reply, '/school/source?done=connected');
}

/** A large loss that was held: the school says that it is right. */
async function approveHeld(db: Db, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { session } = await requireForm(db, request);
  // Only what a person has seen: what was collected meanwhile may lose something else.
  if (!(await readSource(db, session.estab)).held)
    throw new SchoolbellError('conflict', 'Nothing waits for your word any more. Go back and look how it stands now.');
  const held = await findHeldUpload(db, session.estab);
  await db.begin((tx) => requestCollection(tx, session.estab, 'SchoolData', { force: true, full: true, ...(held === undefined ? {} : { upload: held }) }));
  return redirect(reply, '/school/source?done=refresh');
}

async function refresh(db: Db, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { session } = await requireForm(db, request);
  const { databases } = await readSource(db, session.estab);
  await db.begin(async (tx) => {
    for (const { name } of databases) await requestCollection(tx, session.estab, name, { full: true });
  });
  return redirect(reply, '/school/source?done=refresh');
}
