// In charge of the requests of an application in the last days, one by one: what was asked, of which school, how it was answered.
import { listRequests, mostLines, type RequestOutcome } from '../../access/requests.ts';
import { cutPage } from '../../http/cut-page.ts';
import { html, type Html } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { formatCount } from '../../http/pages/figures.ts';
import { renderFilters } from '../../http/pages/filters.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { addressOf, renderPager } from '../../http/pages/pager.ts';
import { renderTable } from '../../http/pages/table.ts';
import { placeOf } from '../deliveries/place.ts';
import { pageLength } from '../layout.ts';
import { applicationPath, applicationRoute } from '../links.ts';
import { keptFor } from '../service/things.ts';
import type { Page } from '../visit.ts';
import { openApplication, renderApplicationPage } from './place.ts';

const outcomes: readonly { value: RequestOutcome; label: string }[] = [
  { value: 'fine', label: 'Answered' },
  { value: 'refused', label: 'Refused (4xx)' },
  { value: 'failed', label: 'Failed (5xx)' },
];

export const applicationRequestsPage: Page = {
  path: `${applicationRoute}/requests`,
  developers: true,
  async show({ db, retained, now }, visit) {
    const application = await openApplication(db, visit);
    const at = `${applicationPath(application.rp)}/requests`;
    const { school, whole } = placeOf(visit, application);
    const [seen, asked] = [visit.query.one('before'), visit.query.one('status')];
    const status = outcomes.find(({ value }) => value === asked)?.value;
    const before = /^\d{1,18}$/.test(seen) ? seen : undefined;
    const found = await listRequests(db, { rp: application.rp, before, most: pageLength + 1, status });
    const { shown: page, last } = cutPage(found, pageLength);
    const table = renderTable({
      id: 'requests',
      caption: 'Newest first',
      stacked: true,
      columns: ['When', 'Request', 'School', 'Answer', { label: 'ms', number: true }, { label: 'Records', number: true }, 'Request id'],
      rows: page.map((one) => [
        renderAgo(one.at, now()),
        html`<span class="id">${one.method} ${one.path}</span>`,
        one.estab === null ? html`<span class="quiet">–</span>` : html`<span class="id">${school(one.estab)}</span>`,
        renderStatus(one.status),
        formatCount(Math.round(one.ms)),
        one.records === null ? html`<span class="quiet">–</span>` : formatCount(one.records),
        html`<span class="id">${one.requestId}</span>`,
      ]),
    });
    return renderApplicationPage(visit, application, {
      title: 'Requests',
      tab: '/requests',
      body: html`${renderFilters({
        path: at,
        filters: [{ kind: 'choice', name: 'status', label: 'Answer', value: status ?? '', all: 'Any answer', choices: outcomes }],
      })}
${page.length > 0 ? table : renderEmpty(status === undefined ? 'It has asked for nothing in the last days.' : 'None of these in the last days.')}
${renderPager({
  first: before === undefined ? undefined : addressOf(at, { status }),
  next: last && addressOf(at, { status, before: last.number }),
})}
<p class="quiet">Of the last ${keptFor(retained, 'request_line')}, ${formatCount(mostLines)} at most. Without ids of records and without queries${whole
  ? ': the log has the whole path under the request id'
  : ', which the operator finds by the request id'}.
Where very many came at once not every one is listed, and what a process had
not written when it was killed is missing; the chart counts all that was written.</p>`,
    });
  },
};

/** The number with its word: which of the three it is must not be left to a colour. */
function renderStatus(status: number): Html {
  const [word, tone] = status < 400 ? (['Answered', 'good'] as const) : status < 500 ? (['Refused', 'wait'] as const) : (['Failed', 'bad'] as const);
  return renderBadge({ badge: `${word} (${status})`, tone });
}
