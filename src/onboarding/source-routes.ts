// In charge of the addresses of a school's page on its data: setting up where it comes from, deciding about what is held,
// and the reports of imports.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Seal } from '../access/seal.ts';
import { requestCollection } from '../collection/component-databases.ts';
import { MisError } from '../collection/connector.ts';
import { requireUsableSetup, setConnector, type ConnectorSetup } from '../collection/connector-settings.ts';
import { openCsvSource } from '../collection/connectors/csv/csv-source.ts';
import { openSpooledPackage } from '../collection/connectors/csv/package.ts';
import { testProvider } from '../collection/connectors/oneroster/oneroster-connector.ts';
import { approveHeld, discardHeld } from '../collection/held.ts';
import { SourceError } from '../collection/problem.ts';
import type { SpoolFile } from '../collection/spool.ts';
import { longestUploadMs, takeUpload, type UploadLimits } from '../collection/uploads.ts';
import type { Db, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { BlockedTarget } from '../http/address-guard.ts';
import { formToken, requireFormToken } from '../http/form-token.ts';
import type { Outbound } from '../http/outbound.ts';
import { redirect, sendPage, sendScriptedPage } from '../http/page-reply.ts';
import type { Query } from '../http/query.ts';
import type { SchoolSession } from './links.ts';
import { findNotice, requireForm, requireSession } from './page-request.ts';
import { followRoute } from './pages/follow.ts';
import { renderImport } from './pages/import-report.ts';
import { isBusy, renderSource } from './pages/source.ts';
import { renderProblemsCsv } from './problems-csv.ts';
import { requireSchool } from './school-view.ts';
import { readSource, requireRun } from './source-view.ts';

export type SourcePages = { db: Db; seal: Seal; providers: Outbound; uploads: UploadLimits };

const hidden = { schema: { hide: true } } as const;
/** A provider is asked for a first page before it is saved. */
const longestTrialMs = 150_000;

export function sourceRoutes(scope: FastifyInstance, pages: SourcePages): void {
  const { db } = pages;
  scope.get('/school/source', hidden, async (request, reply) => showSource(db, await requireSession(db, request), noticeOf(request), undefined, reply));
  scope.post('/school/source/upload', { ...hidden, config: { longestMs: longestUploadMs } }, async (request, reply) => upload(pages, request, reply));
  scope.post('/school/source/provider', { ...hidden, config: { longestMs: longestTrialMs } }, async (request, reply) => setProvider(pages, request, reply));
  scope.post('/school/source/approve', hidden, async (request, reply) => letGo(db, request, reply));
  scope.post('/school/source/discard', hidden, async (request, reply) => discard(db, request, reply));
  scope.get('/school/source/imports/:id', hidden, async (request, reply) => showImport(db, await requireSession(db, request), request, reply));
  scope.get('/school/source/imports/:id/problems.csv', hidden, async (request, reply) => sendProblems(db, await requireSession(db, request), request, reply));
  followRoute(scope);
  scope.post('/school/source/refresh', hidden, async (request, reply) => refresh(db, request, reply));
}

const notices: Readonly<Record<string, string>> = {
  approved: 'Approved. A receipt was sent to the address of your school.',
  uploaded: 'Your package was received.',
  changed: 'Your package was received. From now on your data comes from packages that you upload.',
  connected: 'Connected. The first collection has begun.',
  refresh: 'Your data is being collected again.',
  approve: 'Approved. The import goes on.',
  discard: 'Discarded. Nothing was changed.',
};

const noticeOf = (request: FastifyRequest) => findNotice(request, notices);

async function showSource(
  db: Db,
  session: SchoolSession,
  notice: string | undefined,
  refused: { problem: string; given: { url: string; tokenUrl: string; clientId: string } } | undefined,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const [school, source] = await Promise.all([requireSchool(db, session.estab), readSource(db, session.estab)]);
  const page = renderSource({ school, ...source, token: formToken(session.key), notice, problem: refused?.problem, given: refused?.given });
  const answer = refused === undefined ? reply : reply.code(422);
  return source.databases.some(isBusy) ? sendScriptedPage(answer, page) : sendPage(answer, page);
}

/** The token stands in the address: a file may come before any field. */
async function upload({ db, seal, uploads }: SourcePages, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const session = await requireSession(db, request);
  const query = request.query as Query;
  requireFormToken(session.key, query.token?.[0]);
  const { estab } = session;
  const { connector } = await requireSchool(db, estab);
  const changes = connector === 'oneroster' && query.change?.[0] === 'upload';
  if (connector !== null && connector !== 'csv' && !changes)
    throw new SchoolbellError('conflict', `Your data comes through ${connector}; a package would be undone by the next collection.`);
  const file = await request.file();
  if (!file) throw new SchoolbellError('invalid_request', 'Choose the zip that your MIS has exported.');
  await takeUpload(db, estab, file.file, uploads, changes ? { before: (tx, taken) => changeToPackages(tx, seal, estab, taken) } : {});
  return redirect(reply, `/school/source?done=${changes ? 'changed' : 'uploaded'}`);
}

/** What cannot even be opened is no reason to leave a source that works. */
async function changeToPackages(tx: Tx, seal: Seal, estab: string, file: SpoolFile): Promise<void> {
  try {
    await (await openCsvSource(await openSpooledPackage(file, 'The package'))).close();
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    throw new SchoolbellError('invalid_request', `Nothing was changed, and your provider stays connected: ${error.message}.`);
  }
  await setConnector(tx, seal, estab, { kind: 'csv', folder: undefined });
}

async function setProvider({ db, seal, providers }: SourcePages, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
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

/** A large loss that was held: the school says that it is right. Only what was seen: another may wait by now. */
async function letGo(db: Db, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { session, form } = await requireForm(db, request);
  await db.begin(async (tx) => {
    const approved = await approveHeld(tx, session.estab, form.one('import'));
    await requestCollection(tx, session.estab, 'SchoolData', { full: true, ...approved });
  });
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
  const name = `problems-${estab}-${run.at.toISOString().slice(0, 10)}.csv`;
  return reply
    .headers({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${name}"`,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
    .send(renderProblemsCsv(db, estab, run));
}

async function refresh(db: Db, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { session } = await requireForm(db, request);
  const { databases } = await readSource(db, session.estab);
  await db.begin(async (tx) => {
    for (const { name } of databases) await requestCollection(tx, session.estab, name, { full: true });
  });
  return redirect(reply, '/school/source?done=refresh');
}
