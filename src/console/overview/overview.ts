// In charge of the first page of the console: what needs a person now, and how the service is doing.
import { hasBegun } from '../../access/establishments.ts';
import { readFreshness } from '../../collection/troubled-schools.ts';
import { html, type Html } from '../../http/html.ts';
import { findNeeds } from '../../needs/needs.ts';
import { countSchoolStates } from '../../onboarding/school-states.ts';
import { renderConsole } from '../layout.ts';
import { showOwnApplications } from '../applications/own.ts';
import { addApplicationPath, addSchoolPath } from '../links.ts';
import { isDeveloper, mayChange, type ConsoleParts, type Page, type Visit } from '../visit.ts';
import { readTraffic, renderTraffic } from './charts.ts';
import { renderNeeds } from './needs.ts';
import { renderFreshness, renderStates } from './standing.ts';

export const overviewPage: Page = {
  path: '/console',
  developers: true,
  async show(parts, visit) {
    if (isDeveloper(visit)) return showOwnApplications(parts, visit);
    return renderConsole(visit, { title: 'Overview', section: 'overview', body: html`<h1>Overview</h1>${await renderBody(parts, visit)}` });
  },
};

async function renderBody({ db, config, now }: ConsoleParts, visit: Visit): Promise<Html> {
  const [needs, begun, states, freshness, traffic] = await Promise.all([
    findNeeds({ db, config }), hasBegun(db), countSchoolStates(db), readFreshness(db), readTraffic(db, now()),
  ]);
  if (!begun) return html`${needs.length > 0 && renderNeeds(needs, now())}${renderBeginning(visit)}`;
  return html`${renderNeeds(needs, now())}
<div class="halves">${renderStates(states)}${renderFreshness(freshness)}</div>
${renderTraffic(traffic)}`;
}

/** Before there is anything. */
function renderBeginning(visit: Visit): Html {
  const words = html`<p>Here you will see what needs you, how fresh the data of the schools is, and what applications ask for. There is nothing yet.</p>`;
  if (!mayChange(visit)) return html`<div class="card empty" id="beginning">${words}<p>An admin begins: with a school, then an application.</p></div>`;
  return html`<div class="card empty" id="beginning">${words}
<p>Begin with a school and where its data comes from; then add the application that is to read it.</p>
<p><a class="button" href="${addSchoolPath}">Add a school</a> <a class="button second" href="${addApplicationPath}">Add an application</a></p></div>`;
}
