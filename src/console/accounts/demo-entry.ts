// In charge of the button by which whoever sits at the demo's machine opens the console, on the start page and where one signs in.
import type { FastifyInstance } from 'fastify';
import { requireGivenToken } from '../../http/form-token.ts';
import { html, type Html } from '../../http/html.ts';
import { redirect } from '../../http/page-reply.ts';
import { renderForm } from '../../http/pages/form.ts';
import { enterDemo, requireDemoEntry } from '../../operators/demo-entry.ts';
import { hidden, provePath } from '../serve.ts';
import type { ConsoleParts } from '../visit.ts';
import { sessionBefore } from './outside.ts';

const path = '/console/demo';

export function renderDemoEntry(token: string): Html {
  return renderForm({ path, token, id: 'enter-demo', body: html`<button type="submit">Open the console</button>` });
}

export function demoEntryRoutes(scope: FastifyInstance, { changes, config }: ConsoleParts): void {
  scope.post(path, hidden, async (request, reply) => {
    requireDemoEntry(config, request);
    requireGivenToken(request);
    const { cookie, proven } = await enterDemo(changes, { address: request.ip, publicUrl: config.publicUrl, before: sessionBefore(request) });
    return redirect(reply.header('set-cookie', cookie), proven ? '/console' : provePath);
  });
}
