// In charge of the charts of the first page: requests and deliveries of the last day and the last fortnight.
import { readRequestHours, type RequestCount } from '../../access/requests.ts';
import type { Db } from '../../db/connect.ts';
import { html, type Html } from '../../http/html.ts';
import { renderChart } from '../../http/pages/chart.ts';
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

/** A bar counts what was settled then, and lists go by when a delivery was made, days before it fails: no time leads from one to the other. */
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
  title: `Deliveries, ${titles[span.by]}`,
  of: ['delivery', 'deliveries'],
  each: span.by,
  badly: 'failed',
  bars: spreadBars(span, deliveries, ({ delivered, failed }) => ({ value: delivered + failed, bad: failed })),
  every: labelled[span.by],
})}<p><a href="${deliveriesPath}">All deliveries</a> · <a href="${addressOf(deliveriesPath, { state: 'failed' })}">All that failed</a></p></div>
`)}
</div>
<p class="hint">Times are UTC. Deliveries are counted each minute, requests each second: of a process that was killed, those of its last second are missing.</p>
</section>`;
}
