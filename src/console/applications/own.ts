// In charge of where a developer begins: on the page of their application, or, where they have several, on the list of these.
import { nameOwnApplications } from '../../operators/developers.ts';
import { html } from '../../http/html.ts';
import { GoTo } from '../../http/page-error.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { renderTable } from '../../http/pages/table.ts';
import { countTroubles } from '../../notifications/target-health.ts';
import { countSchoolsByState } from '../../onboarding/application-schools.ts';
import { renderConsole } from '../layout.ts';
import { applicationLink, applicationPath } from '../links.ts';
import type { ConsoleParts, Shown, Visit } from '../visit.ts';
import { renderSchoolCounts, renderTroubles } from './words.ts';

const ofNone = 'You are a developer of no application any more. If that is a mistake, ask a colleague or the operator to invite you again.';

export async function showOwnApplications({ db }: ConsoleParts, visit: Visit): Promise<Shown> {
  const [only, ...others] = visit.operator.applications;
  if (only !== undefined && others.length === 0) throw new GoTo(applicationPath(only));
  const own = await nameOwnApplications(db, visit.operator.id);
  const rps = own.map(({ rp }) => rp);
  const [schoolsOf, troublesOf] = await Promise.all([countSchoolsByState(db, rps), countTroubles(db, rps)]);
  const table = renderTable({
    id: 'applications',
    caption: 'Those that you are a developer of',
    stacked: true,
    columns: ['Application', 'Schools', 'Calls to it'],
    rows: own.map(({ rp, name }) => [
      html`${applicationLink(rp, name)}<br><span class="id quiet">${rp}</span>`, renderSchoolCounts(schoolsOf(rp)), renderTroubles(troublesOf(rp)),
    ]),
  });
  return renderConsole(visit, {
    title: 'Your applications',
    section: 'applications',
    body: html`<h1>Your applications</h1>
${own.length > 0 ? table : renderEmpty(ofNone)}`,
  });
}
