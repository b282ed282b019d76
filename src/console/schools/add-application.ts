// In charge of choosing an application for a school, among those that may not read its data yet.
import { html } from '../../http/html.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { renderFilters } from '../../http/pages/filters.ts';
import { addressOf, renderPager } from '../../http/pages/pager.ts';
import { renderTable } from '../../http/pages/table.ts';
import { listStrangers } from '../../onboarding/grants.ts';
import { renderScopeNames } from '../../onboarding/pages/scope-list.ts';
import { pageLength, renderConsole } from '../layout.ts';
import { addApplicationPath, grantLink, schoolPath, schoolRoute } from '../links.ts';
import type { Page } from '../visit.ts';
import { renderSchoolHead, schoolOf } from './around.ts';

export const addApplicationPage: Page = {
  path: `${schoolRoute}/add-application`,
  async show({ db, ...parts }, visit) {
    const school = await schoolOf({ db, ...parts }, visit);
    const here = `${schoolPath(school.estab)}/add-application`;
    const q = visit.query.one('q');
    const after = visit.query.one('after') || undefined;
    const { applications, next } = await listStrangers(db, school.estab, { q, after, most: pageLength });
    const none =
      q === '' && after === undefined
        ? renderEmpty('Every application of this service is at this school already.', { path: addApplicationPath, label: 'Add one to the service' })
        : renderEmpty('No application is like that.', { path: here, label: 'Show all' });
    const table = renderTable({
      id: 'strangers',
      caption: 'Choose one; you are asked on the next page how to go on.',
      columns: ['Application', 'Id', 'Needs', 'Would also read'],
      rows: applications.map(({ rp, name, required, optional }) => [
        grantLink(school.estab, rp, name),
        html`<span class="id">${rp}</span>`,
        renderScopeNames(required),
        renderScopeNames(optional),
      ]),
      stacked: true,
    });
    const body = html`${renderSchoolHead(school, 'school')}
<h2>Add an application</h2>
${renderFilters({ path: here, filters: [{ kind: 'text', name: 'q', label: 'Name or id', value: q }] })}
${applications.length === 0 ? none : table}
${renderPager({
  first: after === undefined ? undefined : addressOf(here, { q }),
  next: next === undefined ? undefined : addressOf(here, { q, after: next }),
})}`;
    const back = { path: schoolPath(school.estab), label: school.name };
    return renderConsole(visit, { title: `Add an application to ${school.name}`, section: 'schools', back, body });
  },
};
