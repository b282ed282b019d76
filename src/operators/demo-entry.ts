// In charge of the demo's one click to the console: whoever sits at the machine that the demo runs on is its admin, and nobody
// else is, nor a page of another site that makes their browser ask.
import type { FastifyRequest } from 'fastify';
import { noteLook } from '../access/audit-trail.ts';
import type { Config } from '../config.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { isAtThisMachine } from '../http/at-this-machine.ts';
import { adminName, isAdminKept } from './admin.ts';
import { endSession, openSession, type Opened } from './sessions.ts';

export function mayEnterDemo(config: Config, request: FastifyRequest): boolean {
  return config.demo && isAdminKept(config) && isAtThisMachine(config, request);
}

/**
 * Beside the token of the form. Another site on this machine, at another port, could set its cookie; what the browser says of
 * where the request comes from it cannot. Our pages send no referrer, so that their origin is `null`.
 */
export function requireDemoEntry(config: Config, request: FastifyRequest): void {
  const { 'sec-fetch-site': site, origin, host } = request.headers;
  const isOwn = (site === undefined || site === 'same-origin') && (origin === undefined || origin === 'null' || URL.parse(origin)?.host === host);
  if (!mayEnterDemo(config, request) || !isOwn)
    throw new SchoolbellError('forbidden', 'The demo is opened by a click on the machine that it runs on, at its loopback address. Elsewhere, sign in.');
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
