// In charge of how several deliveries are shown: what, to whom, and what came of it.
import { nameFault } from '../../http/explain-fault.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { renderTable } from '../../http/pages/table.ts';
import type { Delivery } from '../../notifications/deliveries.ts';
import { applicationLink } from '../links.ts';
import type { Place } from './place.ts';
import { asSent, describeEvent, renderState, renderUrl } from './words.ts';

type Given = { id: string; caption: HtmlValue; deliveries: readonly Delivery[]; now: number; place: Place };

export function renderDeliveries({ id, caption, deliveries, now, place }: Given): Html {
  const whose = place.rp === undefined ? ['Application'] : [];
  return renderTable({
    id,
    caption,
    stacked: true,
    columns: ['Delivery', 'State', 'School', ...whose, 'To', 'Last answer', { label: 'Attempts', number: true }, 'Made'],
    rows: deliveries.map((one) => [
      html`<a href="${place.paths.delivery(one.id)}" id="to-${one.id}">${describeEvent(one.event)}</a>`,
      renderState(one),
      place.school(one.estab),
      ...(place.rp === undefined ? [applicationLink(one.rp)] : []),
      renderUrl(one.url),
      renderAnswer(one),
      one.attempts,
      renderAgo(one.createdAt, now),
    ]),
  });
}

const longestFault = 80;

function renderAnswer(one: Delivery): HtmlValue {
  const fault = nameFault(one);
  if (fault !== undefined) return asSent(fault.length > longestFault ? `${fault.slice(0, longestFault)}…` : fault);
  return one.attempts === 0 ? html`<span class="quiet">none yet</span>` : (one.status ?? '');
}
