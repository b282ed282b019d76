// The charts of the overview: requests and delivery attempts of the last day and the last fortnight.
import { readRequestHours, type RequestCount } from '../../access/requests.ts';
import type { Db } from '../../db/connect.ts';
import { html, type Html } from '../../http/html.ts';
import { renderChart } from '../../http/pages/chart.ts';
import { formatCount, formatMany } from '../../http/pages/figures.ts';
import { addressOf } from '../../http/pages/pager.ts';
import { readDeliveryHours, type DeliveryCount } from '../../outbox/delivery-hours.ts';
import { applicationsPath, deliveriesPath } from '../links.ts';
import { lastDays, lastHours, spreadBars, type Span } from './bars.ts';

export type Traffic = Readonly<{ span: Span; requests: readonly RequestCount[]; deliveries: readonly DeliveryCount[] }>;

const [hours, days] = [24, 14] as const;
/** So many bars from one label to the next. */
const labelled = { hour: 6, day: 3 } as const;

export async function readTraffic(db: Db, now: number): Promise<Traffic[]> {
  return Promise.all(
    [lastHours(now, hours), lastDays(now, days)].map(async (span) => {
      const asked = { since: span.since, by: span.by };
      const [requests, deliveries] = await Promise.all([readRequestHours(db, asked), readDeliveryHours(db, asked)]);
      return { span, requests, deliveries };
    }),
  );
}

const titles = { hour: 'last 24 hours', day: 'last 14 days' } as const;

/**
 * Delivery charts count attempts: a delivery that keeps failing is shown while it is retried, not days later when it is given up.
 * Bars do not link to lists: a bar goes by the time of an attempt, and a list by the time at which its deliveries were created.
 */
export function renderTraffic(all: readonly Traffic[]): Html {
  return html`<section aria-labelledby="traffic-title">
<h2 id="traffic-title">Requests and deliveries</h2>
<div class="charts">
${all.map(({ span, requests }) => html`<div class="card">${renderChart({
  id: `requests-${span.by}`,
  title: `Requests, ${titles[span.by]}`,
  of: ['request', 'requests'],
  each: span.by,
  badly: 'refused or failed',
  bars: spreadBars(span, requests, ({ requests: value, refused, failed }) => ({ value, bad: refused + failed })),
  every: labelled[span.by],
})}<p><a href="${applicationsPath}">By application</a></p></div>
`)}
${all.map(({ span, deliveries }) => html`<div class="card">${renderChart({
  id: `deliveries-${span.by}`,
  title: `Delivery attempts, ${titles[span.by]}`,
  of: ['attempt', 'attempts'],
  each: span.by,
  badly: 'failed',
  bars: spreadBars(span, deliveries, ({ tries: value, failedTries: bad }) => ({ value, bad })),
  every: labelled[span.by],
})}<p>${renderSettled(deliveries)} <a href="${deliveriesPath}">All deliveries</a> ·
<a href="${addressOf(deliveriesPath, { state: 'waiting' })}">Waiting or retried</a> ·
<a href="${addressOf(deliveriesPath, { state: 'failed' })}">Given up</a></p></div>
`)}
</div>
<p class="hint">Times are UTC. Attempts are counted every minute and requests every second. If a process is killed, the requests of its last second are
missing.</p>
</section>`;
}

function renderSettled(counts: readonly DeliveryCount[]): string {
  const sum = (of: 'delivered' | 'failed') => counts.reduce((total, one) => total + one[of], 0);
  const failed = sum('failed');
  return `${formatMany(sum('delivered'), 'delivery', 'deliveries')} arrived, ${formatCount(failed)} ${failed === 1 ? 'was' : 'were'} given up.`;
}
