// In charge of the address to which a school's export job sends its package, with the school's upload token, and of the
// one where it reads what became of it.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { RequireUploadCaller } from '../access/upload-tokens.ts';
import type { Db, Sql } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { hasBody } from '../http/deadline.ts';
import { fine } from '../http/envelope.ts';
import { refuseOtherMethods } from '../http/known-addresses.ts';
import { describeUpload, describeUploadReport } from './describe-upload.ts';
import { findHeld } from './held.ts';
import { holdSource } from './lock-source.ts';
import { findUpload, howToDecide, renderUpload } from './upload-report.ts';
import { largestUpload, longestUploadMs, takeUpload, tooLarge, type UploadLimits } from './uploads.ts';

export type UploadsByJob = { db: Db; requireUpload: RequireUploadCaller; uploads: UploadLimits; publicUrl: string };
type Params = { estab: string; importId: string };

const bytes = 'application/octet-stream';
const path = '/api/v1/School/:estab/Roster';
/** What a sender still sends when it is refused is read for so long: one that is cut off while it sends never sees why. */
const longestDrainMs = 10_000;

export const uploadUrl = (publicUrl: string, estab: string) => `${publicUrl}/api/v1/School/${estab}/Roster`;

/** For a shell and for a batch file; `token` may be the name of a variable. */
export function renderUploadLine(url: string, token: string): string {
  return `curl --fail-with-body -T roster.zip -H "Authorization: Bearer ${token}" ${url}`;
}

export function uploadRoutes(app: FastifyInstance, parts: UploadsByJob): void {
  const { db, requireUpload, publicUrl } = parts;
  const invited = new WeakSet<IncomingMessage>();
  askFirst(app, invited);
  app.register(async (scope) => {
    // Jobs say all sorts of things about a zip, and curl nothing: the bytes are looked at instead.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(bytes, (_request, body, done) => done(null, body));
    scope.addHook('onRequest', async ({ raw }) => void (raw.headers['content-type'] = bytes));
    scope.addHook('onSend', async (request, reply, payload) => {
      if (reply.statusCode >= 400) await partInPeace(request, reply, invited);
      return payload;
    });
    scope.put(path, { config: { longestMs: longestUploadMs }, ...describeUpload }, async (request, reply) => {
      const { estab } = request.params as Params;
      await requireUpload(request, estab);
      const id = await take(parts, estab, request, reply, invited);
      return reply.code(202).header('location', `${uploadUrl(publicUrl, estab)}/${id}`).send({ ImportId: id, ...fine });
    });
    scope.get(`${path}/:importId`, describeUploadReport, async (request) => {
      const { estab, importId } = request.params as Params;
      await requireUpload(request, estab);
      const found = await findUpload(db, estab, importId);
      if (!found) throw new SchoolbellError('not_found', 'There is no such import of this school.');
      return renderUpload(found, estab, publicUrl);
    });
    refuseOtherMethods(scope, path, ['PUT']);
    refuseOtherMethods(scope, `${path}/:importId`, ['GET']);
  });
}

async function take(
  { db, uploads, publicUrl }: UploadsByJob,
  estab: string,
  request: FastifyRequest,
  reply: FastifyReply,
  invited: WeakSet<IncomingMessage>,
): Promise<string> {
  const { largest = largestUpload } = uploads;
  const length = request.headers['content-length'];
  if (!hasBody(request)) throw noPackage();
  if (length !== undefined && Number(length) > largest) throw tooLarge(largest);
  await requireTaking(db, estab, publicUrl);
  if (request.headers.expect !== undefined && !invited.has(request.raw)) {
    invited.add(request.raw);
    reply.raw.writeContinue();
  }
  return takeUpload(db, estab, readZip(request.body as Readable, reply), uploads, {
    byJob: true,
    before: (tx) => requireTaking(tx, estab, publicUrl, true),
  });
}

/** Asked before the package is read, and again with locks when it is stored: a person may have decided meanwhile. */
async function requireTaking(sql: Sql, estab: string, publicUrl: string, locking = false): Promise<void> {
  if (locking) await holdSource(sql, estab);
  const [school] = await sql<{ connector: string | null }[]>`select connector from establishment where estab = ${estab}`;
  const [watched] = await sql`select from connector_setting where estab = ${estab} and settings ? 'folder'`;
  const through = watched ? 'a folder that is watched' : school?.connector;
  if (watched || (school?.connector ?? 'csv') !== 'csv')
    throw new SchoolbellError('conflict', `The data of ${estab} comes through ${through}; what is sent here would be undone by the next collection.`);
  const [roster] = await sql<{ held: boolean; refreshing: boolean }[]>`
    select status = 'Paused' as held, refreshing_since is not null as refreshing from component_database
    where estab = ${estab} and name = 'SchoolData' ${locking ? sql`for update` : sql``}`;
  if (!roster?.held) return;
  if (roster.refreshing)
    throw new SchoolbellError(
      'conflict',
      'A package that was held is being imported at this moment, and this one was not taken. Send it again in a few minutes.',
    );
  const held = await findHeld(sql, estab);
  if (!held) throw new SchoolbellError('conflict', 'An earlier upload waits for approval, so this one was not accepted. Send it again in a few minutes.');
  const refused = `An earlier upload waits for approval (import ${held.id}), so this one was not accepted.`;
  throw new SchoolbellError('conflict', `${refused} ${howToDecide(estab, publicUrl, held.id)}`);
}

/** Whatever else it is called, a zip begins like one; the rest is for the import to judge. */
async function* readZip(body: Readable, reply: FastifyReply): AsyncGenerator<Buffer> {
  let start: Buffer | undefined = Buffer.alloc(0);
  // Left half-way, it stays open for the answer.
  for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    if (start === undefined) yield chunk;
    else if ((start = Buffer.concat([start, chunk])).length >= 4) {
      requireZip(start);
      yield start;
      start = undefined;
    }
  }
  if (start?.length === 0) throw noPackage();
  if (start !== undefined) requireZip(start);
  // Told that it took too long, the sender sends it again; then this one must not count.
  if (reply.sent) throw new SchoolbellError('unavailable', 'The package came too late.');
}

function requireZip(start: Buffer): void {
  const [p, k] = start;
  if (p === 0x50 && k === 0x4b) return;
  const form = start.subarray(0, 2).toString('latin1') === '--';
  throw new SchoolbellError(
    'unsupported_media_type',
    form
      ? 'The body is a form with the file in it. Send the zip itself, as it is: curl -T roster.zip, not curl -F.'
      : 'The body is not a zip: a zip begins with the letters PK. Send the OneRoster CSV files, with manifest.csv, as one zip.',
  );
}

function noPackage(): SchoolbellError {
  return new SchoolbellError('invalid_request', 'The body is empty. Send the zip that the MIS has exported: curl -T roster.zip.');
}

/** A sender that asks first, as curl does from a megabyte on, is told no before it has sent a byte. */
function askFirst(app: FastifyInstance, invited: WeakSet<IncomingMessage>): void {
  app.server.on('checkContinue', (request, response) => {
    if (request.method !== 'PUT' || !/\/roster\/?(?:\?|$)/i.test(request.url ?? '')) {
      invited.add(request);
      response.writeContinue();
    }
    app.server.emit('request', request, response);
  });
}

async function partInPeace(request: FastifyRequest, reply: FastifyReply, invited: WeakSet<IncomingMessage>): Promise<void> {
  const { raw } = request;
  if (!hasBody(request) || raw.complete) return;
  reply.header('connection', 'close');
  if (request.headers.expect !== undefined && !invited.has(raw)) return;
  raw.resume();
  await finished(raw, { signal: AbortSignal.timeout(longestDrainMs) }).catch(() => {});
}
