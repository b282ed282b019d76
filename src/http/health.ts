// In charge of /healthz (the process is alive) and /readyz (it can serve: database reachable, writable and migrated, and it is not about to end).
import type { FastifyInstance } from 'fastify';
import type { Db } from '../db/connect.ts';
import { isMigrated, provesWritable } from '../db/migrate.ts';
import { createTroubleLog } from '../db/trouble-log.ts';
import { isDatabaseDiskFull } from '../db/unavailable.ts';
import { SchoolbellError } from '../errors.ts';
import { asksForPage } from './accepts-page.ts';
import { describeAlive, describeReady } from './describe-health.ts';

/** Anybody may ask as often as they like; something is written this often. */
const writeEveryMs = 1_000;

type Warn = (error: unknown, words: string) => void;

export function healthRoutes(app: FastifyInstance, db: Db, isLeaving: () => boolean = () => false): void {
  const warning = (details: object, message: string) => app.log.warn(details, message);
  const troubles = createTroubleLog({ warn: warning, error: warning });
  let read: Promise<string | undefined> | undefined;
  let written: { at: number; fault: Promise<string | undefined> } | undefined;
  /** Once for all who wait. */
  const findReadFault = (warn: Warn) => (read ??= tryReading(db, warn).finally(() => (read = undefined)));
  const findWriteFault = (warn: Warn) => {
    if (!written || performance.now() - written.at > writeEveryMs) written = { at: performance.now(), fault: tryWriting(db, warn) };
    return written.fault;
  };

  app.get('/healthz', { config: { quiet: true }, ...describeAlive }, async () => ({ status: 'ok' }));
  app.get('/readyz', { config: { quiet: true }, ...describeReady }, async (request, reply) => {
    const warn: Warn = (err, words) => troubles.failed(words, err, {}, words);
    const fault = isLeaving() ? 'the process is about to end' : ((await findReadFault(warn)) ?? (await findWriteFault(warn)));
    if (fault === undefined) return { status: 'ok' };
    if (asksForPage(request.headers.accept)) throw new SchoolbellError('unavailable', `Not ready to serve: ${fault}.`, { headers: { 'retry-after': '5' } });
    return reply.code(503).send({ status: fault });
  });
}

async function tryReading(db: Db, warn: Warn): Promise<string | undefined> {
  try {
    return (await isMigrated(db)) ? undefined : 'the database is not migrated';
  } catch (error) {
    warn(error, 'the database does not answer');
    return 'the database does not answer';
  }
}

async function tryWriting(db: Db, warn: Warn): Promise<string | undefined> {
  try {
    await provesWritable(db);
    return undefined;
  } catch (error) {
    const words = isDatabaseDiskFull(error) ? "the database's disk is full" : 'the database does not take writes';
    warn(error, words);
    return words;
  }
}
