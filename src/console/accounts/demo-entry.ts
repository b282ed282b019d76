// The button of the demo's one-click sign-in. It is on the start page if that was opened by the link that the start printed.
import type { FastifyInstance } from 'fastify';
import { requireGivenToken } from '../../http/form-token.ts';
import { html, type Html } from '../../http/html.ts';
import { redirect } from '../../http/page-reply.ts';
import { renderForm } from '../../http/pages/form.ts';
import { readForm } from '../../http/forms.ts';
import { enterDemo, entryField, requireDemoEntry } from '../../operators/demo-entry.ts';
import { hidden, provePath } from '../serve.ts';
import type { ConsoleParts } from '../visit.ts';
import { sessionBefore } from './outside.ts';

const path = '/console/demo';

export function renderDemoEntry(token: string, entry: string): Html {
  const body = html`<input type="hidden" name="${entryField}" value="${entry}"><button type="submit">Open the console</button>`;
  return renderForm({ path, token, id: 'enter-demo', body });
}

export function demoEntryRoutes(scope: FastifyInstance, { changes, config, demoEntry }: ConsoleParts): void {
  scope.post(path, hidden, async (request, reply) => {
    requireDemoEntry(config, request, demoEntry, readForm(request).one(entryField));
    requireGivenToken(request);
    const { cookie, proven } = await enterDemo(changes, { address: request.ip, publicUrl: config.publicUrl, before: sessionBefore(request) });
    return redirect(reply.header('set-cookie', cookie), proven ? '/console' : provePath);
  });
}
