// In charge of the page of one call that came into an inbox: all that is kept of it, as text. What would open something is
// hidden until somebody asks for it, which the trail has.
import { isUtf8 } from 'node:buffer';
import { noteLook } from '../../access/audit-trail.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderFacts } from '../../http/pages/facts.ts';
import { formatCount } from '../../http/pages/figures.ts';
import { layOutJson } from '../../http/pages/lay-out-json.ts';
import { formatExact } from '../../http/pages/moment.ts';
import { renderTable } from '../../http/pages/table.ts';
import { showSteering } from '../../http/printable.ts';
import { findDelivery } from '../../notifications/deliveries.ts';
import { requireCall } from '../../notifications/inbox/calls.ts';
import { requireInbox } from '../../notifications/inbox/inboxes.ts';
import { createMask, type Mask } from '../../notifications/inbox/mask.ts';
import { inboxLimits } from '../../notifications/inbox/receive.ts';
import { renderResponse } from '../../notifications/kept-answer.ts';
import { pathsOf } from '../deliveries/place.ts';
import { asSent, renderMethod, renderUrl } from '../deliveries/words.ts';
import { renderDoing } from '../doing.ts';
import { inboxPath } from '../links.ts';
import type { Action, ConsoleParts, Page, Shown, Visit } from '../visit.ts';
import { inboxPageRoute, renderRepeats, renderVerdict, withoutKey } from './inbox.ts';
import { answerWords } from './inboxes.ts';
import { openApplication, renderApplicationPage } from './place.ts';

type Call = Awaited<ReturnType<typeof requireCall>>;

const path = `${inboxPageRoute}/calls/:seq`;
const longestPath = 4096;
const shownSignature = 14;
const mostFields = 500;

export const inboxCallPage: Page = {
  path,
  developers: true,
  async show(parts, visit) {
    // What a writeback says names pupils.
    const { params, actor } = visit;
    await openApplication(parts.db, visit);
    await noteLook(parts.changes, actor, { action: 'look at call in inbox', rp: params.rp, subject: `${params.id} ${params.seq}` });
    return show(parts, visit, createMask());
  },
};

async function show({ db, seal }: ConsoleParts, visit: Visit, mask: Mask): Promise<Shown> {
  const application = await openApplication(db, visit);
  const inbox = await requireInbox(db, application.rp, visit.params.id ?? '');
  const call = await requireCall(db, seal, inbox, visit.params.seq ?? '');
  const at = inboxPath(application.rp, inbox.id);
  const ours = call.webhookId === null ? undefined : await findDelivery(db, { rp: application.rp, estab: undefined }, call.webhookId);
  const [body, headers] = [renderBody(call, mask), renderHeaders(call, mask)];
  const address = renderUrl(mask.address(withoutKey(call.path)), longestPath);
  return renderApplicationPage(visit, application, {
    title: `Call ${call.seq}`,
    tab: '/inboxes',
    body: html`<p class="back"><a href="${at}">Inbox <bdi>${inbox.name}</bdi></a></p>
<h2>${renderMethod(call.method)} ${formatExact(call.received)}</h2>
<section class="card">${renderFacts([
  ['Address', address],
  ['Signature', html`${renderVerdict(call.verdict)} <span class="quiet">${explain(call)}</span>`],
  call.webhookId !== null && ['webhook-id', html`${asSent(call.webhookId)}${renderRepeats(call.repeats)}`],
  ours && ['Delivery', html`<a href="${pathsOf(application.rp).delivery(ours.id)}">One of this service’s own</a>`],
  ['From', call.address === null ? 'this service, without a detour' : asSent(call.address)],
  ['Answered', answerWords[call.answer]],
])}</section>
<section class="card"><h3>Headers</h3>${headers}</section>
<section class="card"><h3>Body</h3>${body}</section>
${mask.found() && renderReveal(visit, `${at}/calls/${call.seq}`)}`,
  });
}

function explain({ verdict, repeats }: Call): string {
  if (verdict === 'right') return repeats > 0 ? 'A repeat: take it once, by its webhook-id.' : 'By the signing secret of the application.';
  if (verdict === 'old') return 'By a signing secret that was replaced and still works for a while.';
  if (verdict === 'ended') return 'By a signing secret of the application that works no more.';
  if (verdict === 'too-old') return 'The signature fits, but its webhook-timestamp is more than five minutes away from when it came.';
  if (verdict === 'wrong') return 'No signing secret of the application gives this signature for these bytes.';
  return 'Without webhook-signature: whoever sent this is not this service.';
}

function renderHeaders({ headers }: Call, mask: Mask): Html {
  const lines = headers.map(([name, value]) => {
    const shown = /signature/i.test(name) ? `${value.slice(0, shownSignature)}…` : mask.field(name, value);
    return showSteering(`${name}: ${shown}`).replaceAll('\n', '\\n');
  });
  return html`<pre class="as-sent" tabindex="0" aria-label="Headers">${lines.join('\n')}</pre>`;
}

/** As what it says it is, if it is that; else as text. Nothing of it is a link, and nothing of it is run. */
function renderBody({ headers, body, bytes }: Call, mask: Mask): Html {
  if (bytes === 0) return html`<p class="quiet">None.</p>`;
  const cut = bytes > body.length && html`<p class="quiet">The first ${formatCount(inboxLimits.keptBytes)} of ${formatCount(bytes)} bytes; the rest is not
kept.</p>`;
  const type = headers.find(([name]) => name === 'content-type')?.[1] ?? '';
  return html`${cut}${isUtf8(body) && /^application\/x-www-form-urlencoded\b/i.test(type) ? renderFields(body, mask) : renderText(readable(body, mask))}`;
}

function renderFields(body: Buffer, mask: Mask): Html {
  const rows = [...new URLSearchParams(body.toString('utf8'))];
  return renderTable({
    id: 'fields',
    caption: rows.length > mostFields ? `The first ${formatCount(mostFields)} of ${formatCount(rows.length)} fields of the form` : 'Fields of the form',
    columns: ['Name', 'Value'],
    rows: rows.slice(0, mostFields).map(([name, value]): HtmlValue[] => [asSent(name), asSent(mask.field(name, value))]),
  });
}

function readable(body: Buffer, mask: Mask): string {
  const text = renderResponse(body);
  try {
    return layOutJson(mask.json(JSON.parse(body.toString('utf8'))));
  } catch {
    return mask.text(text);
  }
}

function renderText(text: string): Html {
  return html`<pre class="as-sent" tabindex="0" aria-label="Body">${showSteering(text)}</pre>`;
}

function renderReveal(visit: Visit, at: string): Html | undefined {
  const form = renderDoing(visit, { path: `${at}/reveal`, id: 'reveal', look: 'second', label: 'Show what is hidden' });
  return form && html`<section class="card"><h3>Something is hidden</h3>
<p>What opens something, a school secret say, is shown only on demand. That you looked at it will stand in the audit trail.</p>${form}</section>`;
}

export const revealCallAction: Action = {
  path: `${path}/reveal`,
  name: 'see secrets in inbox',
  developers: true,
  about: ({ params }) => ({ subject: `${params.id} ${params.seq}` }),
  run: (parts, visit) => show(parts, visit, createMask({ shown: true })),
};
