// In charge of the addresses of a school's page on its data: setting up where it comes from, deciding about what is held,
// and the reports of imports.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Seal } from '../access/seal.ts';
import { changeSource, longestTrialMs } from '../collection/change-source.ts';
import { collectAgain } from '../collection/component-databases.ts';
import { discardHeld, letHeldGo } from '../collection/held.ts';
import { isBusy } from '../collection/pages/database-states.ts';
import { chooseNotice, type StartedNotice } from '../collection/pages/started-notice.ts';
import { readProviderFields, setupOf, type ProviderGiven } from '../collection/pages/provider-fields.ts';
import { problemsHeaders, renderProblemsCsv } from '../collection/problems-csv.ts';
import { readSource, requireRun, type SourceView } from '../collection/source-view.ts';
import { takePackage } from '../collection/take-package.ts';
import { longestUploadMs, type UploadLimits } from '../collection/uploads.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { formToken, requireFormToken } from '../http/form-token.ts';
import type { Outbound } from '../http/outbound.ts';
import { redirect, sendPage, sendScriptedPage } from '../http/page-reply.ts';
import type { Query } from '../http/query.ts';
import type { SchoolSession } from './links.ts';
import { findNotice, requireForm, requireSession } from './page-request.ts';
import { renderImport } from './pages/import-report.ts';
import { renderSource } from './pages/source.ts';
import { requireSchool } from './school-view.ts';

export type SourcePages = { db: Db; seal: Seal; sendsMail: boolean; providers: Outbound; uploads: UploadLimits };

const hidden = { schema: { hide: true } } as const;

export function sourceRoutes(scope: FastifyInstance, pages: SourcePages): void {
  const { db } = pages;
  scope.get('/school/source', hidden, async (request, reply) => showSource(pages, await requireSession(db, request), request, undefined, reply));
  scope.post('/school/source/upload', { ...hidden, config: { longestMs: longestUploadMs } }, async (request, reply) => upload(pages, request, reply));
  scope.post('/school/source/provider', { ...hidden, config: { longestMs: longestTrialMs } }, async (request, reply) => setProvider(pages, request, reply));
  scope.post('/school/source/approve', hidden, async (request, reply) => letGo(db, request, reply));
  scope.post('/school/source/discard', hidden, async (request, reply) => discard(db, request, reply));
  scope.get('/school/source/imports/:id', hidden, async (request, reply) => showImport(db, await requireSession(db, request), request, reply));
  scope.get('/school/source/imports/:id/problems.csv', hidden, async (request, reply) => sendProblems(db, await requireSession(db, request), request, reply));
  scope.post('/school/source/refresh', hidden, async (request, reply) => refresh(db, request, reply));
}

const notices: Readonly<Record<string, string>> = {
  discard: 'Discarded. Nothing was changed.',
};

export const approvedNotice = (sendsMail: boolean) => sendsMail
  ? 'Approved. A receipt was sent to the address of your school.'
  : 'Approved. E-mail is not set up on this service, so no receipt was mailed: the operator of the service has it.';

const startedNotices: Readonly<Record<string, StartedNotice>> = {
  uploaded: { started: 'Your package was received. It is being imported.', ended: 'Your package was imported.' },
  changed: {
    started: 'Your package was received. From now on your data comes from packages that you upload.',
    ended: 'From now on your data comes from packages that you upload.',
  },
  connected: { started: 'Connected. Collecting has begun.', ended: 'Connected.' },
  refresh: { started: 'Your data is being collected again.', ended: 'Your data was collected again.' },
  approve: { started: 'Approved. The import goes on.', ended: 'Approved.' },
};

function noticeOf(request: FastifyRequest, source: SourceView, sendsMail: boolean): string | undefined {
  const started = findNotice(request, startedNotices);
  return started ? chooseNotice(started, source) : findNotice(request, { ...notices, approved: approvedNotice(sendsMail) });
}

async function showSource(
  { db, sendsMail }: SourcePages,
  session: SchoolSession,
  request: FastifyRequest,
  refused: { problem: string; given: ProviderGiven } | undefined,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const [school, source] = await Promise.all([requireSchool(db, session.estab), readSource(db, session.estab, { losses: true })]);
  const notice = refused === undefined ? noticeOf(request, source, sendsMail) : undefined;
  const page = renderSource({ school, ...source, token: formToken(session.key), notice, problem: refused?.problem, given: refused?.given });
  const answer = refused === undefined ? reply : reply.code(422);
  return source.databases.some(isBusy) ? sendScriptedPage(answer, page) : sendPage(answer, page);
}

/** The token stands in the address: a file may come before any field. */
async function upload(pages: SourcePages, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const session = await requireSession(pages.db, request);
  const query = request.query as Query;
  requireFormToken(session.key, query.token?.[0]);
  const file = await request.file();
  if (!file) throw new SchoolbellError('invalid_request', 'Choose the zip that your MIS has exported.');
  const changed = await takePackage(pages, session.estab, file.file, { change: query.change?.[0] === 'upload' });
  return redirect(reply, `/school/source?done=${changed ? 'changed' : 'uploaded'}`);
}

async function setProvider(pages: SourcePages, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { session, form } = await requireForm(pages.db, request);
  const given = readProviderFields(form);
  try {
    await changeSource(pages, session.estab, setupOf(given, form.one('clientSecret')));
  } catch (error) {
    if (!(error instanceof SchoolbellError) || error.code !== 'unprocessable') throw error;
    return showSource(pages, session, request, { problem: error.message, given }, reply);
  }
  return redirect(reply, '/school/source?done=connected');
}

/** A large loss that was held: the school says that it is right. Only what was seen: another may wait by now. */
async function letGo(db: Db, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { session, form } = await requireForm(db, request);
  await letHeldGo(db, session.estab, form.one('import'));
  return redirect(reply, '/school/source?done=approve');
}

async function discard(db: Db, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { session, form } = await requireForm(db, request);
  await discardHeld(db, session.estab, form.one('import'));
  return redirect(reply, '/school/source?done=discard');
}

async function showImport(db: Db, { estab, key }: SchoolSession, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const [school, run] = await Promise.all([requireSchool(db, estab), requireRun(db, estab, (request.params as { id: string }).id)]);
  return sendPage(reply, renderImport({ school, run, token: formToken(key) }));
}

async function sendProblems(db: Db, { estab }: SchoolSession, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const run = await requireRun(db, estab, (request.params as { id: string }).id);
  return reply.headers(problemsHeaders(estab, run)).send(renderProblemsCsv(db, estab, run));
}

async function refresh(db: Db, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { session } = await requireForm(db, request);
  await collectAgain(db, session.estab);
  return redirect(reply, '/school/source?done=refresh');
}
