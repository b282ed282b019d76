// In charge of a school's data in short, on the school's own page in the console: how it stands, what goes on, what is held.
import { isBusy, renderStates } from '../../../collection/pages/database-states.ts';
import { describeConnector } from '../../../collection/pages/database-words.ts';
import { readSource } from '../../../collection/source-view.ts';
import { html, type Html } from '../../../http/html.ts';
import { renderEmpty } from '../../../http/pages/empty.ts';
import type { ListedSchool } from '../../../onboarding/school-states.ts';
import { importsPath, schoolPath, sourcePath, uploadPath } from '../../links.ts';
import { mayChange, type ConsoleParts, type Visit } from '../../visit.ts';
import { followCollections } from './follow.ts';
import { renderHeldNotice } from './held-notice.ts';
import { renderLastImport } from './last-import.ts';

/** scripts: for the page that it stands on, while something goes on. */
export async function renderSourceBlock({ db, now }: ConsoleParts, visit: Visit, school: ListedSchool): Promise<{ body: Html; scripts: readonly string[] }> {
  const { estab } = school;
  const { databases, runs, held } = await readSource(db, estab);
  const { mark, scripts } = followCollections(databases);
  const admin = mayChange(visit);
  const begin = admin ? { path: sourcePath(estab), label: 'Connect a source' } : undefined;
  const known = databases.length > 0;
  const body = html`<section class="card" aria-labelledby="data"><h2 id="data">Data</h2>
<div id="decision">${held && renderHeldNotice(estab, held, now(), false)}</div>
${
  known
    ? html`<p>${school.connector === null ? 'No source is connected.' : `${describeConnector(school.connector)}.`}</p>
${renderStates(databases, { last: runs[0], timeZone: school.timeZone, again: schoolPath(estab) })}`
    : renderEmpty('No data has come yet: a source has to be connected, or a package uploaded.', begin)
}
<div id="after" data-live>${renderLastImport(estab, runs[0], now())}</div>
<p class="links"><a href="${sourcePath(estab)}">The source</a> <a href="${importsPath(estab)}">Imports</a>
${admin && !databases.some(isBusy) && html`<a href="${uploadPath(estab)}">Upload a package</a>`}</p>${mark}</section>`;
  return { body, scripts };
}
