// Shows the last change of an application's callback URL, and asks the operator to confirm it if events with secrets wait for that.
import type { Application } from '../../access/applications.ts';
import { html, type Html } from '../../http/html.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { renderDoing } from '../doing.ts';
import { applicationPath } from '../links.ts';
import { mayOperate, type Visit } from '../visit.ts';

const shownDays = 30;

/** Returns undefined if the callback URL was not changed lately and nothing waits. */
export function renderCallbackChange(visit: Visit, application: Application, now: number): Html | undefined {
  const { rp, callbackUrl, callbackChange, confirmedCallbackHost } = application;
  if (!callbackChange) return undefined;
  const at = new Date(callbackChange.at);
  const waits = confirmedCallbackHost !== null;
  if (!waits && now - at.getTime() > shownDays * 86_400_000) return undefined;
  const change = html`<p>${callbackChange.by} changed the callback URL ${renderAgo(at, now)} from <span class="id">${callbackChange.from}</span>
to <span class="id">${callbackUrl}</span>.</p>`;
  if (!waits) return html`<section class="card" id="callback-change" aria-label="Callback URL">${change}</section>`;
  const confirm = mayOperate(visit) && renderDoing(visit, {
    path: `${applicationPath(rp)}/confirm-callback`,
    id: 'confirm-callback',
    label: 'Confirm the callback URL',
    body: html`<input type="hidden" name="callback-url" value="${callbackUrl}">`,
  });
  return html`<section class="box step" id="callback-change" aria-label="Callback URL">${change}
<p>The confirmed host is <span class="id">${confirmedCallbackHost}</span>. Events that carry a school secret wait until the operator confirms the new host.</p>
${confirm}</section>`;
}
