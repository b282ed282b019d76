// In charge of where an application is called: its callback URL, one-off URLs and what it registered at each school, and how each fares.
import { cutPage } from '../../http/cut-page.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { addressOf, renderPager } from '../../http/pages/pager.ts';
import { renderTable } from '../../http/pages/table.ts';
import { describeCallbackTarget, listRegisteredTargets, type TargetHealth } from '../../notifications/target-health.ts';
import { listTargets, type Target } from '../../notifications/targets.ts';
import { placeOf, type Place } from '../deliveries/place.ts';
import { countWaiting } from '../deliveries/targets.ts';
import { renderTargetState, renderUrl } from '../deliveries/words.ts';
import { pageLength } from '../layout.ts';
import { applicationPath, applicationRoute } from '../links.ts';
import { mayChange, type Page } from '../visit.ts';
import { openApplication, renderApplicationPage, renderHeading } from './place.ts';

/** An estab has no space. */
const separator = ' ';

export const applicationWebhooksPage: Page = {
  path: `${applicationRoute}/webhooks`,
  developers: true,
  async show({ db, now }, visit) {
    const application = await openApplication(db, visit);
    const at = `${applicationPath(application.rp)}/webhooks`;
    const place = placeOf(visit, application);
    const seen = visit.query.one('after');
    const [estab = '', ...rest] = seen.split(separator);
    const [callback, oneOffs, found] = await Promise.all([
      describeCallbackTarget(db, application.rp),
      listTargets(db, { rp: application.rp, kind: 'one-off', most: pageLength + 1 }),
      listRegisteredTargets(db, application.rp, { after: { estab, databaseName: rest.join(separator) }, most: pageLength + 1 }),
    ]);
    const { shown: page, last } = cutPage(found, pageLength);
    const registered = renderTable({
      id: 'webhooks',
      caption: 'Registrations, in the order of the schools’ numbers',
      stacked: true,
      columns: ['Target', 'School', 'Database', ...healthColumns],
      rows: page.map((one) => [
        html`<a href="${place.paths.target(one.id)}">${one.method} ${renderUrl(one.url)}</a>`,
        html`${place.school(one.estab, one.school ?? '')}<br><span class="id quiet">${one.estab}</span>`,
        one.databaseName,
        ...renderHealth(one, now()),
      ]),
    });
    return renderApplicationPage(visit, application, {
      title: 'Webhooks',
      tab: '/webhooks',
      body: html`${seen === '' && html`${renderHeading('Callback URL')}${renderCallback(callback, now(), place)}`}
${seen === '' && oneOffs.length > 0 && renderOneOffs(oneOffs, now(), place)}
${renderHeading('What it registered')}
<p class="quiet">It is called there when data of a school changes. A target’s own page has what was sent, and sends a test.</p>
${page.length > 0 ? registered : renderEmpty('It has registered no webhook.', mayChange(visit) ? wayToRegister(application.rp) : undefined)}
${renderPager({
  first: seen === '' ? undefined : at,
  next: last && addressOf(at, { after: `${last.estab}${separator}${last.databaseName}` }),
})}`,
    });
  },
};

const wayToRegister = (rp: string) => ({ path: addressOf(`${applicationPath(rp)}/try`, { operation: 'school-data.registerWebhook' }), label: 'Register one' });

/** They are known as long as something is kept that was sent there. */
function renderOneOffs(found: readonly Target[], now: number, { paths }: Place): Html {
  return html`${renderHeading('One-off URLs')}
<p class="quiet">Given with a single request, and called once its answer is there. They are counted by where they lead.</p>
${renderTable({
  id: 'one-offs',
  caption: found.length > pageLength ? html`The first ${pageLength}; <a href="${paths.targets}">all its targets</a>` : 'By origin',
  stacked: true,
  columns: ['Target', 'State', { label: 'Waiting', number: true }],
  rows: found.slice(0, pageLength).map((one) => [
    html`<a href="${paths.target(one.id)}">${renderUrl(one.url)}</a>`,
    html`${renderTargetState(one)}${one.failingSince && html`<br><span class="quiet">began ${renderAgo(one.failingSince, now)}</span>`}`,
    countWaiting(one),
  ]),
})}`;
}

const healthColumns = ['State', 'Last arrived', { label: 'Waiting', number: true }] as const;

export function renderCallback(health: TargetHealth, now: number, { paths }: Place): Html {
  return renderTable({
    id: 'callback',
    caption: 'Where authentication events go',
    stacked: true,
    columns: ['Target', ...healthColumns],
    rows: [[html`<a href="${paths.target(health.id)}">${renderUrl(health.url)}</a>`, ...renderHealth(health, now)]],
  });
}

function renderHealth(health: TargetHealth, now: number): HtmlValue[] {
  const { failingSince, disabledWhy, lastArrived } = health;
  return [
    html`${renderTargetState(health)}${failingSince && html`<br><span class="quiet">began ${renderAgo(failingSince, now)}</span>`}
${disabledWhy && html`<br><span class="quiet">${disabledWhy}</span>`}`,
    renderAgo(lastArrived, now, 'not lately'),
    countWaiting(health),
  ];
}
