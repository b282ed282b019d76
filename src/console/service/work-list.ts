// In charge of the page of durable work: how much of each kind is open, the latest of what is asked for, and the chores.
import { describeWork, labelOfWork, workKinds } from '../../durable-work.ts';
import { cutPage } from '../../http/cut-page.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderBadge, type Badge } from '../../http/pages/badge.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { formatCount, formatDuration } from '../../http/pages/figures.ts';
import { renderFilters } from '../../http/pages/filters.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { addressOf, renderPager } from '../../http/pages/pager.ts';
import { renderTable } from '../../http/pages/table.ts';
import { mailKind } from '../../mail/mail.ts';
import { listChores, notedEveryMs, type ChoreRun } from '../../outbox/chores.ts';
import {
  countOpenWork,
  listWork,
  listWorkKinds,
  openStates,
  parseWorkKey,
  renderWorkKey,
  workStates,
  type Work,
  type WorkState,
} from '../../outbox/list-work.ts';
import { pageLength, renderConsole } from '../layout.ts';
import { deliveriesPath, mailPath, schoolLink, workListPath, workPath } from '../links.ts';
import type { Page } from '../visit.ts';
import { badgeOfEnding, readEndings, renderEnding, type KnownEnding } from './endings.ts';
import { keptFor } from './things.ts';

const countedTo = 1_000;

const badges: Readonly<Record<WorkState, Badge>> = {
  waiting: { badge: 'Waiting', tone: 'wait' },
  running: { badge: 'Under way', tone: 'busy' },
  failed: { badge: 'Failed', tone: 'bad' },
  done: { badge: 'Done', tone: 'good' },
  superseded: { badge: 'Replaced by newer', tone: 'off' },
  cancelled: { badge: 'Cancelled', tone: 'off' },
};

export const badgeOfWork = ({ state, lost }: Pick<Work, 'state' | 'lost'>): Badge => (lost ? { badge: 'Its process has ended', tone: 'bad' } : badges[state]);

/** A mail has a page of its own, which says what it is about. */
export const pathOfWork = ({ kind, id }: Pick<Work, 'kind' | 'id'>) => (kind === mailKind ? mailPath(id) : workPath(id));

export const workListPage: Page = {
  path: workListPath,
  async show({ db, retained, now }, visit) {
    const there = await listWorkKinds(db);
    const kind = [...workKinds.map((one) => one.kind), ...there].find((one) => one === visit.query.one('kind')) ?? '';
    const state = workStates.find((one) => one === visit.query.one('state')) ?? '';
    const [estab, before] = [visit.query.one('estab'), parseWorkKey(visit.query.one('before'))];
    const found = await listWork(db, {
      kinds: kind === '' ? there : [kind],
      states: workStates.filter((one) => state === '' || one === state),
      estab: estab === '' ? undefined : estab,
      before,
      most: pageLength + 1,
    });
    const [counts, chores] = [await countOpenWork(db, there, countedTo + 1), await listChores(db)];
    const { shown, last } = cutPage(found, pageLength);
    const next = last && addressOf(workListPath, { kind, state, estab, before: renderWorkKey(last.key) });
    const kinds = [...new Set([...workKinds.map((one) => one.kind), ...there])].map((value) => ({ value, label: labelOfWork(value) }));
    const states = workStates.map((value) => ({ value, label: badges[value].badge }));
    const narrowed = kind !== '' || state !== '' || estab !== '' || before !== undefined;
    const body = html`<h1>Work</h1>
<p class="quiet">What the service has promised to do and does by itself: it is tried again when it fails. Calls to applications stand under
<a href="${deliveriesPath}">Deliveries</a>.</p>
${there.length > 0 && renderCounts(there, counts)}
${renderFilters({
  path: workListPath,
  filters: [
    { kind: 'choice', name: 'kind', label: 'Kind', value: kind, all: 'Any kind', choices: kinds },
    { kind: 'choice', name: 'state', label: 'State', value: state, all: 'Any state', choices: states },
    { kind: 'text', name: 'estab', label: 'School number', value: estab },
  ],
})}
${shown.length === 0 ? renderNone(narrowed) : renderWork(shown, await readEndings(db, shown), keptFor(retained, 'outbox'), now())}
${renderPager({ first: before && addressOf(workListPath, { kind, state, estab }), next })}
${renderChores(chores, now())}`;
    return renderConsole(visit, { title: 'Work', section: 'work', body });
  },
};

type Counts = Awaited<ReturnType<typeof countOpenWork>>;

function renderCounts(kinds: readonly string[], counts: Counts): Html {
  const cell = (kind: string, state: WorkState): HtmlValue => {
    const count = counts.find((one) => one.kind === kind && one.state === state)?.count ?? 0;
    const words = count > countedTo ? `${formatCount(countedTo)}+` : formatCount(count);
    return count === 0 ? words : html`<a href="${addressOf(workListPath, { kind, state })}">${words}</a>`;
  };
  return renderTable({
    id: 'open',
    caption: 'What is open, by kind',
    columns: ['Kind', ...openStates.map((state) => ({ label: badges[state].badge, number: true as const }))],
    rows: kinds.map((kind) => [html`<a href="${addressOf(workListPath, { kind })}">${labelOfWork(kind)}</a>`, ...openStates.map((state) => cell(kind, state))]),
  });
}

function renderNone(narrowed: boolean): Html {
  if (narrowed) return renderEmpty('No work is like that.', { path: workListPath, label: 'Show all' });
  return renderEmpty('Collecting from schools, writebacks of marks, mails and links will be here as soon as there are any.');
}

function renderWork(found: readonly Work[], endings: ReadonlyMap<string, KnownEnding>, kept: string, now: number): Html {
  return renderTable({
    id: 'work',
    caption: `Newest first; what was settled is kept for ${kept}`,
    columns: ['Work', 'State', 'School', { label: 'Attempts', number: true }, 'Asked for', 'How it stands'],
    rows: found.map((work) => [
      html`<a href="${pathOfWork(work)}">${labelOfWork(work.kind)}</a> ${describeWork(work)}`,
      renderBadge(badgeOfEnding(endings.get(work.id)) ?? badgeOfWork(work)),
      schoolLink(work.estab),
      String(work.attempts),
      renderAgo(work.created, now),
      renderStanding(work, endings.get(work.id), now),
    ]),
    stacked: true,
  });
}

function renderStanding({ estab, state, error, due, since, settled }: Work, ending: KnownEnding | undefined, now: number): HtmlValue {
  if (ending) return html`${error}; ${renderEnding(estab, ending)}`;
  if (state === 'running') return html`since ${renderAgo(since, now, 'an unknown time')}`;
  if (state === 'waiting') return html`${error !== null && `${error}; `}due ${due.getTime() > now ? renderAgo(due, now) : 'now'}`;
  return state === 'failed' ? error : renderAgo(settled, now);
}

/** What is done more often than it is noted is done again before anybody could read when. */
function renderNext(everyMs: number | null, next: Date | null, now: number): HtmlValue {
  if (everyMs !== null && everyMs < notedEveryMs) return html`<span class="quiet">all the time; noted once a minute</span>`;
  return next && next.getTime() > now ? renderAgo(next, now) : 'now';
}

function renderChores(chores: readonly ChoreRun[], now: number): Html {
  if (chores.length === 0) return html`<section><h2>Chores</h2><p class="quiet">None ran yet: they begin with the first worker.</p></section>`;
  const table = renderTable({
    id: 'chores',
    caption: 'What is due again and again',
    columns: ['Chore', 'Every', 'Ran last', { label: 'Took', number: true }, 'Next', 'Trouble'],
    rows: chores.map(({ name, everyMs, last, tookMs, next, trouble }) => [
      name,
      everyMs !== null && formatDuration(everyMs),
      renderAgo(last, now),
      tookMs === null ? html`<span class="quiet">under way, or cut off</span>` : formatDuration(tookMs),
      renderNext(everyMs, next, now),
      trouble !== null && html`${renderBadge({ badge: 'Failed', tone: 'bad' })} ${trouble}`,
    ]),
    stacked: true,
  });
  return html`<section><h2>Chores</h2>${table}</section>`;
}
