// In charge of the list of targets: where calls go to, and which of them need somebody.
import { cutPage } from '../../http/cut-page.ts';
import { html, type Html } from '../../http/html.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { renderFilters } from '../../http/pages/filters.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { addressOf, renderPager } from '../../http/pages/pager.ts';
import { renderTable } from '../../http/pages/table.ts';
import { listTargets, mostWaiting, targetStates, type Target } from '../../notifications/targets.ts';
import { pageLength } from '../layout.ts';
import { applicationLink, targetsPath } from '../links.ts';
import type { Page } from '../visit.ts';
import { ofApplication, openPlace, type Place } from './place.ts';
import { describeApplicationFilter, listChoices, renderTargetState, renderUrl, targetKinds } from './words.ts';

const states = targetStates.map((value) => ({ value, label: `${value[0]?.toUpperCase() ?? ''}${value.slice(1)}` }));

export const targetsPage: Page = {
  path: targetsPath,
  async show(parts, visit) {
    const { query } = visit;
    const place = await openPlace(parts.db, visit);
    const { targets } = place.paths;
    const text = (name: string) => (query.one(name) === '' ? undefined : query.one(name).slice(0, 500));
    const state = targetStates.find((one) => one === query.one('state'));
    const [rp, estab, after] = [place.rp === undefined ? text('rp') : undefined, text('estab'), text('after')];
    const found = await listTargets(parts.db, { state, rp: place.rp ?? rp, estab, after, most: pageLength + 1 });
    const { shown, last } = cutPage(found, pageLength);
    const parameters = { state: state ?? '', rp: rp ?? '', estab: estab ?? '' };
    const filters = [
      { name: 'state', label: 'State', value: parameters.state, kind: 'choice' as const, all: 'Any state', choices: states },
      ...(place.rp === undefined ? [describeApplicationFilter(parameters.rp, await listChoices(parts))] : []),
      { name: 'estab', label: 'School number', value: parameters.estab, kind: 'text' as const },
    ];
    const body = html`${place.heading('Targets')}
${place.ways('targets')}
${renderFilters({ path: targets, filters })}
${shown.length > 0 ? renderTargets(shown, parts.now(), place) : renderEmpty(describeNone(state !== undefined, rp !== undefined || estab !== undefined))}
${renderPager({
  first: after === undefined ? undefined : addressOf(targets, parameters),
  next: last && addressOf(targets, { ...parameters, after: last.id }),
})}`;
    return place.render({ title: 'Targets', body });
  },
};

export const applicationTargetsPage = ofApplication(targetsPage);

function describeNone(inState: boolean, narrowed: boolean): string {
  if (inState) return 'No target is in this state.';
  return narrowed ? 'There is no target like that.' : 'No application is there yet, so that nothing is called. Its callback URL will be the first target.';
}

function renderTargets(targets: readonly Target[], now: number, { rp, paths, school }: Place): Html {
  const whose = rp === undefined ? ['Application'] : [];
  return renderTable({
    id: 'targets',
    caption: 'Callback URLs, origins of one-off URLs, and registrations for database events',
    stacked: true,
    columns: ['Target', 'State', ...whose, 'School', 'URL', { label: 'Waiting', number: true }, 'Next try', 'Failing since'],
    rows: targets.map((one) => [
      html`<a href="${paths.target(one.id)}">${targetKinds[one.kind]}${one.databaseName !== null && `: ${one.databaseName}`}</a>`,
      renderTargetState(one),
      ...(rp === undefined ? [applicationLink(one.rp, one.application)] : []),
      one.estab === null ? html`<span class="quiet">all</span>` : school(one.estab),
      renderUrl(one.url),
      countWaiting(one),
      one.nextAt ? renderAgo(one.nextAt, now) : '',
      one.failingSince ? renderAgo(one.failingSince, now) : '',
    ]),
  });
}

export const countWaiting = ({ waiting }: Target) => (waiting >= mostWaiting ? `${mostWaiting}+` : String(waiting));
