// The link that the demo prints when it starts: it opens the start page with the demo's credentials and a one-click sign-in to the console, on the
// machine that the demo runs on. The token in the link keeps out people who reach the port through a plain TCP forwarder, which looks like this machine.
import type { FastifyRequest } from 'fastify';
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { noteLook } from '../access/audit-trail.ts';
import type { Config } from '../config.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { couldBeAtThisMachine, isAtThisMachine } from '../http/at-this-machine.ts';
import { adminName, isAdminKept } from './admin.ts';
import { endSession, openSession, type Opened } from './sessions.ts';

/** The name of the token in the printed link and in the form. */
export const entryField = 'entry';

/** Creates the token of the demo's one-click link, which is valid until this process ends. Undefined without a demo, or if other machines can call. */
export function createDemoEntryToken(config: Config): string | undefined {
  return config.demo && couldBeAtThisMachine(config) ? randomBytes(24).toString('base64url') : undefined;
}

export function renderDemoEntryLine(config: Config, token: string): string {
  const opened = isAdminKept(config) ? 'credentials and the console' : 'credentials';
  return `Open the ${opened} of the demo with one click: ${config.publicUrl}/?${entryField}=${token}\n`;
}

/** Whether a request from this machine carries the token of the demo's link. `token` is the process's, `given` that of the request. */
export function hasDemoEntry(config: Config, request: FastifyRequest, token: string | undefined, given: string): boolean {
  const [wanted, got] = [Buffer.from(token ?? ''), Buffer.from(given)];
  const isRight = token !== undefined && wanted.length === got.length && timingSafeEqual(wanted, got);
  return isRight && config.demo && isAtThisMachine(config, request);
}

/**
 * Beside the token of the form. Another site on this machine, at another port, could set its cookie, but cannot change what the browser says
 * about where the request comes from. Our pages send no referrer, so that their origin is `null`.
 */
export function requireDemoEntry(config: Config, request: FastifyRequest, token: string | undefined, given: string): void {
  const { 'sec-fetch-site': site, origin, host } = request.headers;
  const isOwn = (site === undefined || site === 'same-origin') && (origin === undefined || origin === 'null' || URL.parse(origin)?.host === host);
  if (!hasDemoEntry(config, request, token, given) || !isAdminKept(config) || !isOwn)
    throw new SchoolbellError(
      'forbidden',
      'The demo is opened by the link that the service printed when it started, on the machine that it runs on. Open that link, or sign in.',
    );
}

/** The click takes the place of the password; a second factor is asked for as ever. */
export async function enterDemo(db: Db, { address, publicUrl, before }: { address: string; publicUrl: string; before: string | undefined }): Promise<Opened> {
  return db.begin(async (tx) => {
    const [admin] = await tx<{ id: string }[]>`select id from console_account where sign_in_name = ${adminName} and role = 'admin'`;
    if (!admin) throw new SchoolbellError('not_found', 'There is no admin yet. Start the service again.');
    if (before !== undefined) await endSession(tx, before);
    await noteLook(tx, { name: adminName, via: 'console', from: address }, { action: 'sign in', detail: { by: 'the click of the demo' } });
    return openSession(tx, admin.id, { address, publicUrl });
  });
}
