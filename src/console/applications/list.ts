// In charge of the page that lists the applications: found by name or id, each with its schools and how its calls fare.
import { searchApplications } from '../../access/applications.ts';
import { findLastRequests } from '../../access/last-requests.ts';
import { cutPage } from '../../http/cut-page.ts';
import { html } from '../../http/html.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { renderFilters } from '../../http/pages/filters.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { addressOf, renderPager } from '../../http/pages/pager.ts';
import { renderTable } from '../../http/pages/table.ts';
import { countTroubles } from '../../notifications/target-health.ts';
import { countSchoolsByState } from '../../onboarding/application-schools.ts';
import { pageLength, renderConsole } from '../layout.ts';
import { addApplicationPath, applicationLink, applicationsPath } from '../links.ts';
import { mayChange, type Page } from '../visit.ts';
import { renderSchoolCounts, renderTroubles } from './words.ts';

export const applicationsPage: Page = {
  path: applicationsPath,
  async show({ db, now }, visit) {
    const [words, after] = [visit.query.one('q'), visit.query.one('after')];
    const found = await searchApplications(db, { words, after, most: pageLength + 1 });
    const { shown: page, last } = cutPage(found, pageLength);
    const rps = page.map(({ rp }) => rp);
    const [schoolsOf, troublesOf, lastRequestOf] = await Promise.all([countSchoolsByState(db, rps), countTroubles(db, rps), findLastRequests(db, rps)]);
    const nothing = words === '' && after === '' ? 'No application yet. It will be listed here with its schools and how its calls fare.' : 'None of that name.';
    const table = renderTable({
      id: 'applications',
      caption: 'Applications, in the order of their ids',
      stacked: true,
      columns: ['Application', 'Schools', 'Calls to it', 'Last request', 'Added'],
      rows: page.map(({ rp, name, created }) => [
        html`${applicationLink(rp, name)}<br><span class="id quiet">${rp}</span>`,
        renderSchoolCounts(schoolsOf(rp)),
        renderTroubles(troublesOf(rp)),
        renderAgo(lastRequestOf(rp), now(), 'not lately'),
        renderAgo(created, now()),
      ]),
    });
    return renderConsole(visit, {
      title: 'Applications',
      section: 'applications',
      body: html`<div class="heading"><h1>Applications</h1>${
        mayChange(visit) && html`<p><a class="button" href="${addApplicationPath}">Add an application</a></p>`}</div>
${renderFilters({ path: applicationsPath, filters: [{ kind: 'text', name: 'q', label: 'Name or id', value: words }] })}
${page.length > 0 ? table : renderEmpty(nothing, mayChange(visit) && words === '' ? { path: addApplicationPath, label: 'Add an application' } : undefined)}
${renderPager({
  first: after === '' ? undefined : addressOf(applicationsPath, { q: words }),
  next: last && addressOf(applicationsPath, { q: words, after: last.rp }),
})}`,
    });
  },
};
