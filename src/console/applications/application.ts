// In charge of the first page of an application: what it is and asks for, how much it asks, its schools, its secrets.
import { listApplicationSecrets } from '../../access/credentials.ts';
import { readRequestHours } from '../../access/requests.ts';
import { html } from '../../http/html.ts';
import { renderChart } from '../../http/pages/chart.ts';
import { describeCallbackTarget, countTroubles } from '../../notifications/target-health.ts';
import { countSchoolsByState, listApplicationSchools } from '../../onboarding/application-schools.ts';
import { placeOf } from '../deliveries/place.ts';
import { lastDays, spreadBars } from '../overview/bars.ts';
import { applicationPath, applicationRoute } from '../links.ts';
import { isDeveloper, mayChange, type Page } from '../visit.ts';
import { renderCredentials } from './credentials.ts';
import { describeEdited } from './edit.ts';
import { openApplication, renderApplicationPage, renderHeading } from './place.ts';
import { renderCallbackChange } from './callback-change.ts';
import { describeProfile, describeScopes } from './profile.ts';
import { renderSchools } from './schools.ts';
import { renderCallback } from './webhooks.ts';
import { renderSchoolCounts, renderTroubles } from './words.ts';

const path = applicationRoute;
const shownDays = 14;
const shownSchools = 5;

export const applicationPage: Page = {
  path,
  developers: true,
  async show({ db, now }, visit) {
    const application = await openApplication(db, visit);
    const { rp } = application;
    const at = applicationPath(rp);
    const span = lastDays(now(), shownDays);
    const [secrets, schools, counts, troubles, callback, days] = await Promise.all([
      listApplicationSecrets(db, rp),
      listApplicationSchools(db, rp, { most: shownSchools, asApplication: isDeveloper(visit) }),
      countSchoolsByState(db, [rp]),
      countTroubles(db, [rp]),
      describeCallbackTarget(db, rp),
      readRequestHours(db, { rp, since: span.since, by: span.by }),
    ]);
    return renderApplicationPage({ ...visit, notice: describeEdited(visit) }, application, {
      title: 'Application',
      tab: '',
      body: html`${renderCallbackChange(visit, application, now())}<div class="halves">
<section class="card">${renderHeading('Profile', mayChange(visit) && html`<a href="${at}/edit">Edit</a>`)}
${describeProfile(application)}</section>
<section class="card">${renderHeading('What it asks schools for')}
${describeScopes(application)}</section>
</div>
<div class="halves">
<section class="card">${renderHeading('Requests', html`<a href="${at}/requests">One by one</a>`)}
${renderChart({
  id: 'days',
  title: `Requests by day, the last ${shownDays}`,
  of: ['request', 'requests'],
  each: 'day',
  badly: 'refused or failed',
  every: 2,
  bars: spreadBars(span, days, ({ requests, refused, failed }) => ({ value: requests, bad: refused + failed })),
})}</section>
<section class="card">${renderHeading('Credentials')}
${renderCredentials(secrets, rp, mayChange(visit), now())}</section>
</div>
<section class="card">${renderHeading('Schools', html`<span>${renderSchoolCounts(counts(rp))}</span>`)}
${schools.length > 0 ? renderSchools(schools, rp, visit, now()) : html`<p>No school yet.</p>`}
<p><a href="${at}/schools">${schools.length < shownSchools ? 'Find or ask a school' : 'All schools, and ask one'}</a></p></section>
<section class="card">${renderHeading('Calls to it', renderTroubles(troubles(rp)))}
${renderCallback(callback, now(), placeOf(visit, application))}
<p><a href="${at}/webhooks">What it registered at each school</a></p></section>`,
    });
  },
};
