// In charge of the page of one target: how it is doing, what was sent there lately, and what an operator can do about it.
import type { Db } from '../../db/connect.ts';
import type { Form } from '../../http/forms.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { renderFacts } from '../../http/pages/facts.ts';
import { renderInput } from '../../http/pages/field.ts';
import { formatMany } from '../../http/pages/figures.ts';
import { renderForm } from '../../http/pages/form.ts';
import { formatExact, renderAgo } from '../../http/pages/moment.ts';
import { addressOf } from '../../http/pages/pager.ts';
import { browseDeliveries, type Browsed } from '../../notifications/browse-deliveries.ts';
import { enableTarget, pauseTarget, resumeTarget, testTarget } from '../../notifications/steer-target.ts';
import { findOwnerOfTarget, requireTarget, type Target } from '../../notifications/targets.ts';
import { renderDoing } from '../doing.ts';
import { applicationLink, targetsPath } from '../links.ts';
import { daysKept } from '../service/things.ts';
import { mayChange, type Action, type ConsoleParts, type Page, type Visit } from '../visit.ts';
import { readReplayed, replayWhatFailed } from './list.ts';
import { ofApplication, openPlace, ownerOf, pathsOf, type Place } from './place.ts';
import { renderDeliveries } from './table.ts';
import { countWaiting } from './targets.ts';
import { asSent, lookedBackWords, renderTargetState, renderUrl, targetKinds } from './words.ts';

const latest = 20;
const dayMs = 86_400_000;
const longestUrl = 4096;
const path = `${targetsPath}/:id`;

export const targetPage: Page = {
  path,
  async show(parts, visit) {
    const place = await openPlace(parts.db, visit);
    const target = await requireTarget(parts.db, visit.params.id ?? '', ownerOf(visit));
    const lately = await browseDeliveries(parts.db, { ...whichOf(target), most: latest });
    const success = await findLastSuccess(parts.db, target, lately);
    const now = parts.now();
    const body = html`${place.heading(html`${targetKinds[target.kind]} of ${target.application} ${renderTargetState(target)}`)}
${renderStanding(target, now, place)}
${mayChange(visit) && renderSteering(visit, target, place)}
<section class="card">${renderFacts(describe(target, success, { place, now, keptDays: daysKept(parts.retained, 'outbox') }))}</section>
${renderLately(target, lately, now, place)}
${mayChange(visit) && renderReplay(visit, target, place)}`;
    const back = { path: place.paths.targets, label: 'All targets' };
    return place.render({ title: `Target ${target.id}`, body, back }, { notice: readReplayed(visit), problem: visit.problem });
  },
};

export const applicationTargetPage = ofApplication(targetPage);

const whichOf = ({ key, rp, estab }: Target) => ({ lane: key, rp, estab: estab ?? undefined });

type Success = { at: Date | null } | { not: Date };

/** Among the latest that were delivered to anybody like it; where it is not among them, it was before those. */
async function findLastSuccess(db: Db, target: Target, lately: Browsed): Promise<Success> {
  const seen = lately.deliveries.find(({ state }) => state === 'done');
  if (seen) return { at: seen.settledAt };
  const { deliveries, lookedBack } = await browseDeliveries(db, { ...whichOf(target), state: 'done', most: 1 });
  const [last] = deliveries;
  return last || !lookedBack ? { at: last?.settledAt ?? null } : { not: lookedBack };
}

type Kept = { now: number; keptDays: number };
type Around = Kept & { place: Place };

function renderSuccess(success: Success, { since }: Target, { now, keptDays }: Kept): HtmlValue {
  if ('not' in success) return html`<span class="quiet">none since ${formatExact(success.not)}</span>`;
  if (success.at === null && isNew(since, now, keptDays)) return html`none since it was added, ${renderAgo(since, now)}`;
  return renderAgo(success.at, now, `none in ${formatMany(keptDays, 'day')}`);
}

/** Returns whether a target was added within the days for which its deliveries are stored, so that none of them can have been deleted. */
const isNew = (since: Date, now: number, keptDays: number) => since.getTime() > now - keptDays * dayMs;

function describe(target: Target, success: Success, { now, keptDays, place }: Around): (readonly [string, HtmlValue] | false)[] {
  const { id, url, method, rp, application, estab, school, databaseName, failures, failingSince, nextAt } = target;
  return [
    ['Id', html`<span class="id">${id}</span>`],
    ['URL', html`${method !== null && html`<code>${method}</code> `}${renderUrl(url, longestUrl)}`],
    place.rp === undefined && ['Application', applicationLink(rp, application)],
    ['School', estab === null ? html`<span class="quiet">all of the application’s</span>` : html`${place.school(estab)} ${school}`],
    databaseName !== null && ['Database', databaseName],
    ['Last success', renderSuccess(success, target, { now, keptDays })],
    failingSince !== null && ['Failing since', renderAgo(failingSince, now)],
    ['Failures in a row', String(failures)],
    ['Waiting', countWaiting(target)],
    nextAt !== null && ['Next try', renderAgo(nextAt, now)],
  ];
}

function renderStanding({ pausedAt, pausedBy, disabledAt, disabledWhy, openUntil }: Target, now: number, { whole }: Place): Html | undefined {
  if (!pausedAt && !disabledAt && !openUntil) return undefined;
  return html`<div class="${disabledAt ? 'box problem' : 'card held'}">
${disabledAt && html`<p><strong>Disabled</strong> ${renderAgo(disabledAt, now)}: ${asSent(disabledWhy ?? '')}. Nothing more is sent there.</p>`}
${pausedAt && html`<p><strong>Paused</strong> ${renderAgo(pausedAt, now)}${whole && html` by ${pausedBy}`}.
What comes meanwhile waits, and goes out in its order when it is resumed.</p>`}
${openUntil && !pausedAt && !disabledAt && html`
<p>It has failed again and again, so that it is left alone until ${formatExact(openUntil)}; one call then decides.</p>`}
</div>`;
}

function renderSteering(visit: Visit, target: Target, { paths }: Place): Html {
  const doing = (verb: string, label: string, look?: 'second') => renderDoing(visit, { path: `${paths.target(target.id)}/${verb}`, id: verb, label, look });
  const { pausedAt, disabledAt, kind } = target;
  return html`<div class="actions steering">
${disabledAt && doing('enable', 'Enable it again')}
${pausedAt ? doing('resume', 'Resume', disabledAt ? 'second' : undefined) : doing('pause', 'Pause', 'second')}
${kind !== 'one-off' && !pausedAt && doing('test', 'Send a test', 'second')}
</div>`;
}

function renderLately(target: Target, { deliveries, next, lookedBack }: Browsed, now: number, place: Place): Html {
  const { rp, estab, id } = target;
  const all = addressOf(place.paths.deliveries, { target: id, rp: place.rp === undefined ? rp : '', estab: estab ?? '' });
  if (deliveries.length === 0) return renderEmpty(lookedBack ? `Nothing was sent there lately. ${lookedBackWords(lookedBack)}` : 'Nothing was sent there yet.');
  return html`${renderDeliveries({ id: 'lately', caption: 'Sent there lately', deliveries, now, place })}
${next !== undefined && html`<p><a href="${all}">All deliveries to this target</a></p>`}`;
}

function renderReplay({ token, typed }: Visit, target: Target, { paths }: Place): Html {
  const body = html`<div class="in-line">
${renderInput({ name: 'failed-since', label: 'Failed since (UTC)', type: 'datetime-local', autocomplete: 'off', value: typed?.one('failed-since') })}
<div class="field"><button type="submit" class="second">Replay what failed here</button></div></div>`;
  return html`<section class="card"><h2>Send again what failed</h2>
${renderForm({ path: `${paths.target(target.id)}/replay-failed`, token, id: 'replay-failed', body })}</section>`;
}

const idOf = ({ params }: Visit) => params.id ?? '';
const about = async (visit: Visit, _form: Form, { db }: ConsoleParts) =>
  ({ subject: idOf(visit), ...(await findOwnerOfTarget(db, idOf(visit), ownerOf(visit))) });
const pathAt = ({ params }: Visit, { id }: Pick<Target, 'id'>) => pathsOf(params.rp).target(id);

export const targetActions: readonly Action[] = [
  {
    path: `${path}/pause`,
    name: 'target pause',
    done: 'The target is paused. What comes meanwhile waits.',
    about,
    run: async ({ changes }, visit) => ({ to: pathAt(visit, await pauseTarget(changes, idOf(visit), visit.operator.name, ownerOf(visit))) }),
  },
  {
    path: `${path}/resume`,
    name: 'target resume',
    done: 'The target is not paused any more. What has waited is sent, in its order.',
    about,
    run: async ({ changes }, visit) => ({ to: pathAt(visit, await resumeTarget(changes, idOf(visit), ownerOf(visit))) }),
  },
  {
    path: `${path}/enable`,
    name: 'target enable',
    done: 'The target is enabled. What had failed can be replayed.',
    about,
    run: async ({ changes }, visit) => ({ to: pathAt(visit, await enableTarget(changes, idOf(visit), ownerOf(visit))) }),
  },
  {
    path: `${path}/test`,
    name: 'target test',
    done: 'A test is sent. This is it.',
    about,
    run: async ({ changes }, visit) => ({ to: pathsOf(visit.params.rp).delivery(await testTarget(changes, idOf(visit), ownerOf(visit))) }),
  },
  {
    path: `${path}/replay-failed`,
    name: 'replay',
    done: 'What failed since then is sent again.',
    about: async (visit, form, parts) => ({ ...(await about(visit, form, parts)), detail: { since: form.one('failed-since') } }),
    async run({ changes }, visit, form) {
      const target = await requireTarget(changes, idOf(visit), ownerOf(visit));
      return { to: addressOf(pathAt(visit, target), await replayWhatFailed(changes, { form, rp: target.rp, lane: target.key })) };
    },
  },
];

export const targetOfApplicationActions: readonly Action[] = targetActions.map((action) => ofApplication(action));
