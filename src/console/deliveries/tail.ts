// In charge of the live tail: the newest deliveries, fetched again every two seconds, until somebody stops it.
import { html } from '../../http/html.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { renderFilters } from '../../http/pages/filters.ts';
import { formatExact } from '../../http/pages/moment.ts';
import { addressOf } from '../../http/pages/pager.ts';
import { scriptPaths } from '../../http/pages/scripts.ts';
import { browseDeliveries } from '../../notifications/browse-deliveries.ts';
import { tailPath } from '../links.ts';
import type { Page } from '../visit.ts';
import { ofApplication, openPlace } from './place.ts';
import { renderDeliveries } from './table.ts';
import { describeApplicationFilter, listChoices } from './words.ts';

const shown = 50;

export const tailPage: Page = {
  path: tailPath,
  async show(parts, visit) {
    const place = await openPlace(parts.db, visit);
    const { tail } = place.paths;
    const rp = place.rp === undefined ? visit.query.one('rp').slice(0, 100) : '';
    const stopped = visit.query.one('stopped') === 'yes';
    const { deliveries } = await browseDeliveries(parts.db, { rp: place.rp ?? (rp === '' ? undefined : rp), most: shown });
    const now = parts.now();
    const here = addressOf(tail, { rp });
    const filters = place.rp === undefined ? [describeApplicationFilter(rp, await listChoices(parts))] : [];
    const body = html`${place.heading('Live tail')}
${place.ways('tail')}
${filters.length > 0 && renderFilters({ path: tail, filters })}
<p>${stopped
      ? html`Stopped. <a href="${here}">Go on</a>`
      : html`<a href="${addressOf(tail, { rp, stopped: 'yes' })}">Stop here</a> · <a href="${here}">Look again</a>`}</p>
${!stopped && html`<p class="unseen" id="follow-words" role="status" data-follow></p>`}
<div id="tail" data-live><p id="tail-at" class="quiet">The newest ${shown}, as of ${formatExact(new Date(now))}.</p>
${deliveries.length > 0
      ? renderDeliveries({ id: 'latest', caption: 'Newest first', deliveries, now, place })
      : renderEmpty('Nothing was sent yet. What is sent appears here by itself.')}</div>`;
    return place.render({ title: 'Live tail', body, scripts: stopped ? [] : [scriptPaths.follow] });
  },
};

export const applicationTailPage = ofApplication(tailPage);
