// In charge of the addresses on which a school makes, replaces and removes the upload token of its export job.
import type { FastifyInstance, FastifyReply } from 'fastify';
import { findUploadToken, makeUploadToken, removeUploadToken } from '../access/upload-tokens.ts';
import { uploadUrl } from '../collection/upload-routes.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { formToken } from '../http/form-token.ts';
import { redirect, sendPage } from '../http/page-reply.ts';
import type { Query } from '../http/query.ts';
import type { SchoolSession } from './links.ts';
import { requireForm, requireSession } from './page-request.ts';
import { jobPath, renderUploadByJob } from './pages/upload-by-job.ts';
import { requireSchool } from './school-view.ts';

const hidden = { schema: { hide: true } } as const;

export function uploadByJobRoutes(scope: FastifyInstance, { db, publicUrl, sendsMail }: { db: Db; publicUrl: string; sendsMail: boolean }): void {
  async function show(session: SchoolSession, reply: FastifyReply, said: { made?: string; notice?: string }): Promise<FastifyReply> {
    const { estab } = session;
    const [school, uploadToken] = await Promise.all([requireSchool(db, estab), findUploadToken(db, estab)]);
    const url = uploadUrl(publicUrl, estab);
    return sendPage(reply, renderUploadByJob({ school, url, sendsMail, uploadToken, made: said.made, notice: said.notice, token: formToken(session.key) }));
  }

  scope.get(jobPath, hidden, async (request, reply) => {
    const removed = (request.query as Query).done?.[0] === 'removed';
    return show(await requireSession(db, request), reply, removed ? { notice: 'Removed. From this moment nothing can be sent.' } : {});
  });
  scope.post(jobPath, hidden, async (request, reply) => {
    const { session, form } = await requireForm(db, request);
    const action = form.one('action');
    if (action === 'make') return show(session, reply, { made: await makeUploadToken(db, session.estab, 'school', form.all('replaces')[0]) });
    if (action !== 'remove') throw new SchoolbellError('invalid_request', 'Choose what to do.');
    await removeUploadToken(db, session.estab, 'school');
    return redirect(reply, `${jobPath}?done=removed`);
  });
}
