// In charge of the list of all deliveries: which part of it is shown stands in the address, and what failed can be sent again.
import { SchoolbellError } from '../../errors.ts';
import { readCount } from '../../http/forms.ts';
import { html, type Html } from '../../http/html.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { renderInput, renderSelect, type Choice } from '../../http/pages/field.ts';
import { formatMany } from '../../http/pages/figures.ts';
import { renderFilters } from '../../http/pages/filters.ts';
import { renderForm } from '../../http/pages/form.ts';
import { addressOf, renderPager } from '../../http/pages/pager.ts';
import { browseDeliveries, deliveryEvents, type Browsing } from '../../notifications/browse-deliveries.ts';
import { deliveryStates } from '../../notifications/deliveries.ts';
import { replayFailed } from '../../notifications/replay-delivery.ts';
import { findTarget, type Target } from '../../notifications/targets.ts';
import { pageLength } from '../layout.ts';
import { deliveriesPath } from '../links.ts';
import { keptFor } from '../service/things.ts';
import { fieldTime, readTime } from '../times.ts';
import { mayChange, type Action, type ConsoleParts, type Page, type Visit } from '../visit.ts';
import { ofApplication, openPlace, ownerOf, pathsOf, type Place } from './place.ts';
import { renderDeliveries } from './table.ts';
import { describeApplicationFilter, eventWords, listChoices, lookedBackWords, renderUrl, stateWords, targetKinds } from './words.ts';

/** As many as a form may take before whoever sent it gives up. */
const mostReplayed = 10_000;

type Asked = { browsing: Browsing; target: Target | undefined; problem: string | undefined; parameters: Record<string, string> };

export const deliveriesPage: Page = {
  path: deliveriesPath,
  async show(parts, visit) {
    const place = await openPlace(parts.db, visit);
    const here = place.paths.deliveries;
    const { browsing, target, problem, parameters } = await readAsked(parts, visit);
    const [browsed, applications] = [await browseDeliveries(parts.db, browsing), place.rp === undefined ? await listChoices(parts) : undefined];
    const { deliveries, next, lookedBack } = browsed;
    const onwards = { ...parameters, before: next };
    const body = html`${place.heading('Deliveries')}
${place.ways('deliveries')}
${target && renderNarrowed(target, parameters, place)}
${renderFilters({ path: here, filters: describeFilters(parameters, applications, place), ...(target ? { keep: { target: target.id } } : {}) })}
${deliveries.length > 0
  ? renderDeliveries({ id: 'deliveries', caption: 'Newest first', deliveries, now: parts.now(), place })
  : renderEmpty(lookedBack ? 'None among the latest.' : describeNone(parameters, keptFor(parts.retained, 'outbox')))}
${lookedBack && html`<p class="quiet">${lookedBackWords(lookedBack)} There may be older ones:
<a href="${addressOf(here, onwards)}" rel="next">go on from there</a>.</p>`}
${renderPager({
  first: browsing.before === undefined ? undefined : addressOf(here, parameters),
  next: lookedBack || next === undefined ? undefined : addressOf(here, onwards),
})}
${mayChange(visit) && renderReplay(visit, place, applications, parameters)}`;
    return place.render({ title: 'Deliveries', body }, { problem: visit.problem ?? problem, notice: readReplayed(visit) });
  },
};

/** What is none of the known values is left out; a time that is none is said. */
async function readAsked({ db }: ConsoleParts, visit: Visit): Promise<Asked> {
  const [{ query }, owner] = [visit, ownerOf(visit)];
  const [since, until] = [readTime(query, 'since'), readTime(query, 'until')];
  const text = (name: string) => (query.one(name) === '' ? undefined : query.one(name).slice(0, 100));
  const state = deliveryStates.find((one) => one === query.one('state'));
  const event = deliveryEvents.find((one) => one === query.one('kind'));
  const target = text('target') === undefined ? undefined : await findTarget(db, query.one('target'), owner);
  const [estab, rp, before] = [text('estab'), owner.rp === undefined ? text('rp') : undefined, text('before')];
  return {
    target,
    browsing: { estab, rp: owner.rp ?? rp, state, event, lane: target?.key, since: since.at, until: until.at, before, most: pageLength },
    problem: [since.problem, until.problem].filter(Boolean).join(' ') || undefined,
    parameters: {
      estab: estab ?? '', rp: rp ?? '', kind: event ?? '', state: state ?? '', since: fieldTime(since.at), until: fieldTime(until.at), target: target?.id ?? '',
    },
  };
}

function renderNarrowed({ id, kind, url, application }: Target, parameters: Record<string, string>, { paths }: Place): Html {
  const target = html`<a href="${paths.target(id)}">${targetKinds[kind]} of <bdi>${application}</bdi></a>`;
  return html`<p id="narrowed">Only what goes to one target: ${target}, ${renderUrl(url)}.
<a href="${addressOf(paths.deliveries, { ...parameters, target: '' })}">Show those to all targets</a></p>`;
}

function describeFilters(given: Record<string, string>, applications: readonly Choice[] | undefined, { rp }: Place) {
  const value = (name: string) => given[name] ?? '';
  const chosen = applications?.some((one) => one.value === value('rp')) || value('rp') === '' ? [] : [{ value: value('rp'), label: value('rp') }];
  return [
    { name: 'estab', label: 'School number', value: value('estab'), kind: 'text' as const },
    ...(rp === undefined ? [describeApplicationFilter(value('rp'), applications && [...applications, ...chosen])] : []),
    { name: 'kind', label: 'Kind', value: value('kind'), kind: 'choice' as const, all: 'Any kind', choices: choicesOf(deliveryEvents, eventWords) },
    { name: 'state', label: 'State', value: value('state'), kind: 'choice' as const, all: 'Any state', choices: choicesOf(deliveryStates, stateWords) },
    { name: 'since', label: 'Since (UTC)', value: value('since'), kind: 'time' as const },
    { name: 'until', label: 'Until (UTC)', value: value('until'), kind: 'time' as const },
  ];
}

const choicesOf = <T extends string>(values: readonly T[], words: Readonly<Record<T, string>>): Choice[] =>
  values.map((value) => ({ value, label: words[value] }));

const describeNone = (parameters: Record<string, string>, kept: string) =>
  Object.values(parameters).some((value) => value !== '')
    ? `There is no delivery like that. What was settled is kept for ${kept}.`
    : 'Nothing was sent yet. As soon as a school approves an application, or data changes that one has registered for, its calls stand here.';

function renderReplay({ token, typed }: Visit, place: Place, applications: readonly Choice[] | undefined, { rp = '' }: Record<string, string>): Html {
  const of = { name: 'of', value: typed?.one('of') ?? rp };
  const body = html`<div class="in-line">
${renderInput({ name: 'failed-since', label: 'Failed since (UTC)', type: 'datetime-local', autocomplete: 'off', value: typed?.one('failed-since') })}
${place.rp === undefined && (applications
  ? renderSelect({ ...of, label: 'Of', choices: [{ value: '', label: 'All applications' }, ...applications] })
  : renderInput({ ...of, label: 'Of (rp; all if empty)', type: 'text', autocomplete: 'off', optional: true }))}
<div class="field"><button type="submit">Replay what failed</button></div></div>`;
  return html`<section class="card"><h2>Send again what failed</h2>
<p>Everything that failed since a time, unless something newer was said or its target is disabled. It keeps its <code>webhook-id</code>.</p>
${renderForm({ path: `${place.paths.deliveries}/replay-failed`, token, id: 'replay-failed', body })}</section>`;
}

export const replayFailedAction: Action = {
  path: `${deliveriesPath}/replay-failed`,
  name: 'replay',
  done: 'What failed since then is sent again.',
  about: ({ params }, form) => ({ rp: params.rp ?? (form.one('of') || undefined), detail: { since: form.one('failed-since') } }),
  async run({ changes }, { params }, form) {
    const of = params.rp === undefined ? form.one('of') : '';
    const counts = await replayWhatFailed(changes, { form, rp: params.rp ?? (of || undefined) });
    return { to: addressOf(pathsOf(params.rp).deliveries, { ...counts, rp: of }) };
  },
};

export const applicationDeliveriesPage = ofApplication(deliveriesPage);
export const replayFailedOfApplicationAction = ofApplication(replayFailedAction);

type Which = { form: Visit['query']; rp?: string | undefined; lane?: string | undefined };

export async function replayWhatFailed(db: ConsoleParts['changes'], { form, rp, lane }: Which): Promise<{ replayed: string; left: string }> {
  const { at: since, problem } = readTime(form, 'failed-since');
  if (!since) throw new SchoolbellError('invalid_request', problem ?? 'Say since when: what failed before that stays as it is.');
  const { replayed, left } = await replayFailed(db, { since, rp, lane, most: mostReplayed });
  return { replayed: String(replayed.length), left: String(left.reduce((sum, { failed }) => sum + failed, 0)) };
}

/** How many it were. */
export function readReplayed({ notice, query }: Visit): string | undefined {
  const [replayed, left] = [readCount(query, 'replayed'), readCount(query, 'left') ?? 0];
  if (notice === undefined || replayed === undefined) return notice;
  return [
    replayed === 0 ? 'Nothing that could be sent again had failed since then.' : `${formatMany(replayed, 'delivery', 'deliveries')} will be sent again.`,
    replayed === mostReplayed && `There may be more than these ${mostReplayed}: replay once more.`,
    left === 1 && '1 delivery of a disabled target stays as it is: enable the target first.',
    left > 1 && `${formatMany(left, 'delivery', 'deliveries')} of disabled targets stay as they are: enable the targets first.`,
  ].filter(Boolean).join(' ');
}
