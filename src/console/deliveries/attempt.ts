// In charge of one attempt of a delivery: what was sent with which headers, what was answered, where the time went. All of it
// is text of others, and nothing of it is trusted.
import type { AllowList } from '../../http/address-guard.ts';
import { describeFault } from '../../http/call-fault.ts';
import { nameFault } from '../../http/explain-fault.ts';
import { html, type Html } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { renderFacts } from '../../http/pages/facts.ts';
import { formatExact, renderAgo } from '../../http/pages/moment.ts';
import { showSteering } from '../../http/printable.ts';
import type { Attempt, Delivery } from '../../notifications/deliveries.ts';
import { keepAnswer, renderResponse } from '../../notifications/kept-answer.ts';
import { asSent, renderMethod, renderUrl } from './words.ts';

const longestText = 20_000;
const longestUrl = 4096;
const shownSignature = 14;

/** whole: for the operator; an application is shown no more than its API tells it. */
type Shown = { attempt: Attempt; delivery: Delivery; answersFrom: AllowList; now: number; open: boolean; whole: boolean };

export function renderAttempt({ attempt, delivery, answersFrom, now, open, whole }: Shown): Html {
  const { number, success, at, status, address, nextAt } = attempt;
  const request = whole ? attempt.request : null;
  const fault = describeFault(attempt);
  return html`<section class="card" id="attempt-${number}">
<h3 class="titled">Attempt ${number} ${renderBadge(success ? { badge: 'Taken', tone: 'good' } : { badge: 'Failed', tone: 'bad' })}
<span class="quiet">${renderAgo(at, now)}</span></h3>
${renderFacts([
  ['At', formatExact(at)],
  ['Answer', status === null ? html`<span class="quiet">none</span>` : String(status)],
  fault !== undefined && ['Error', html`${asSent(nameFault(attempt) ?? '')} <span class="quiet">(${asSent(fault)})</span>`],
  ['Address', address === null ? html`<span class="quiet">${status === null ? 'none was reached' : 'an inbox of this service'}</span>` : asSent(address)],
  ['Took', renderTimings(attempt, whole)],
  whole && nextAt !== null && ['To be tried again', formatExact(nextAt)],
])}
<details${open && html` open`}><summary>Request and answer of attempt ${number}</summary>
<div class="side"><div><h4>Request</h4>
<p>${renderMethod(request?.method ?? delivery.method)} ${renderUrl(request?.url ?? delivery.url, longestUrl)}</p>
${whole && renderHeaders(hideSignature(request?.headers ?? {}), `request-${number}`)}</div>
<div><h4>Answer</h4>${renderAnswer(attempt, delivery, answersFrom)}</div></div></details>
</section>`;
}

function renderTimings({ timings, milliseconds }: Attempt, whole: boolean): Html {
  const ms = (value: number) => `${Math.round(value)} ms`;
  const parts = [
    ['name', timings?.dns],
    ['connection', timings?.connect],
    ['TLS', timings?.tls],
    ['first byte', timings?.firstByte],
  ] as const;
  const known = (whole ? parts : []).flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${ms(value)}`]));
  if (milliseconds === null) return html`<span class="quiet">not known</span>`;
  return html`${ms(milliseconds)} in all${known.length > 0 && html` <span class="quiet">(${known.join(', ')})</span>`}`;
}

/** Enough of it to compare; whole it would let whoever reads this send the same call. */
function hideSignature(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, /signature/i.test(name) ? `${String(value).slice(0, shownSignature)}…` : String(value)]),
  );
}

function renderHeaders(headers: Readonly<Record<string, string>>, id: string): Html {
  const lines = Object.entries(headers).map(([name, value]) => showSteering(`${name}: ${value}`).replaceAll('\n', '\\n'));
  if (lines.length === 0) return html`<p class="quiet">No headers are kept.</p>`;
  return html`<pre class="as-sent" id="${id}" tabindex="0" aria-label="Headers">${cut(lines.join('\n'))}</pre>`;
}

/** Judged again, as it was when it was kept. */
function renderAnswer({ number, status, headers, response, address }: Attempt, { sealed }: Delivery, answersFrom: AllowList): Html {
  if (status === null) return html`<p class="quiet">There was none.</p>`;
  // Answered from nowhere on the network: handed over in the process.
  if (address === null) return html`<p class="quiet">It was handed to an inbox, whose page shows it and says how it answers.</p>`;
  const kept = keepAnswer({ headers: headers ?? {}, response: response ?? undefined }, { address, sealed, answersFrom });
  if (!kept) return html`<p class="quiet">What a receiver at an address that is not public answers is not kept.</p>`;
  const text = kept.response && kept.response.length > 0 ? renderResponse(kept.response) : undefined;
  const none = sealed ? 'Its body is not kept: the call carried the school secret.' : 'Without a body.';
  return html`${renderHeaders(kept.headers, `answer-headers-${number}`)}
${text === undefined ? html`<p class="quiet">${none}</p>` : renderText(text, `answer-${number}`)}`;
}

export function renderText(text: string, id: string): Html {
  return html`<pre class="as-sent" id="${id}" tabindex="0" aria-label="Body">${cut(showSteering(text))}</pre>`;
}

const cut = (text: string) => (text.length > longestText ? `${text.slice(0, longestText)}\n… (cut here)` : text);
