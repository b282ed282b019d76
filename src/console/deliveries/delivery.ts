// In charge of the page of one delivery: what became of it and why, what was sent and answered at every attempt, and the
// button that sends it again.
import { isUtf8 } from 'node:buffer';
import { noteRepeatedLook } from '../../access/audit-trail.ts';
import { SchoolbellError } from '../../errors.ts';
import { parseAllowList } from '../../http/address-guard.ts';
import { explainFault } from '../../http/explain-fault.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderFacts } from '../../http/pages/facts.ts';
import { layOutJson } from '../../http/pages/lay-out-json.ts';
import { formatExact, renderAgo } from '../../http/pages/moment.ts';
import { scriptPaths } from '../../http/pages/scripts.ts';
import { showSteering } from '../../http/printable.ts';
import {
  findDelivery, findOwnerOfDelivery, mostAttempts, type Anybody, type Attempt, type Delivery, type Reader, type Sent,
} from '../../notifications/deliveries.ts';
import { renderResponse } from '../../notifications/kept-answer.ts';
import { replayDelivery } from '../../notifications/replay-delivery.ts';
import { findTargetId } from '../../notifications/target-id.ts';
import { renderDoing } from '../doing.ts';
import { applicationLink, deliveriesPath } from '../links.ts';
import { keptFor } from '../service/things.ts';
import type { Action, Page, Visit } from '../visit.ts';
import { renderAttempt, renderText } from './attempt.ts';
import { ofApplication, openPlace, ownerOf, pathsOf, type Place } from './place.ts';
import { asSent, describeEvent, renderMethod, renderState, renderUrl } from './words.ts';

type Whole = Delivery & Sent & { log: readonly Attempt[] };

const longestUrl = 4096;
const soonMs = 60_000;

export const deliveryPage: Page = {
  path: `${deliveriesPath}/:id`,
  async show(parts, visit) {
    const place = await openPlace(parts.db, visit);
    const one = await findDelivery(parts.db, readerOf(visit), visit.params.id ?? '');
    if (!one) throw new SchoolbellError('not_found', `There is no such delivery; what was settled is kept for ${keptFor(parts.retained, 'outbox')}.`);
    // What a writeback says names pupils.
    if (place.whole && one.event === 'writeback' && one.body)
      await noteRepeatedLook(parts.changes, visit.actor, { action: 'look at delivery', estab: one.estab, rp: one.rp, subject: one.id });
    const now = parts.now();
    const follows = one.state === 'running' || (one.state === 'waiting' && isSent(one) && one.dueAt.getTime() < now + soonMs);
    const answersFrom = parseAllowList(parts.config.answersFrom);
    const attempts = one.log.toReversed();
    const body = html`<div id="delivery" data-live>
${place.heading(html`${describeEvent(one.event)} <span id="outcome">${renderState(one)}</span>`)}
${renderWhy(one, place)}</div>
<div id="again" data-live>${renderReplay(visit, one, place)}
${follows && html`<p><a href="${place.paths.delivery(one.id)}">Look again</a></p>`}</div>
${follows && html`<p class="unseen" id="follow-words" role="status" data-follow></p>`}
<section class="card" id="facts" data-live>${renderFacts(describe(one, now, place))}</section>
${place.whole && renderBody(one)}
<section id="attempts" data-live><h2>Attempts</h2>
${attempts.length === 0 && html`<p class="quiet">It was not tried yet.</p>`}
${one.attempts > mostAttempts && html`<p class="quiet">The latest ${mostAttempts} of ${one.attempts}.</p>`}
${attempts.map((attempt, at) => renderAttempt({ attempt, delivery: one, answersFrom, now, open: at === 0, whole: place.whole }))}</section>`;
    return place.render({
      title: `${describeEvent(one.event)} ${one.id}`,
      body,
      back: { path: place.paths.deliveries, label: 'All deliveries' },
      scripts: follows ? [scriptPaths.follow] : [],
    });
  },
};

export const applicationDeliveryPage = ofApplication(deliveryPage);

/** Of whose deliveries one is looked for: of an application on its pages, and otherwise of all. */
const readerOf = (visit: Pick<Visit, 'params'>) => ({ rp: ownerOf(visit).rp, estab: undefined }) as Reader | Anybody;

const isSent = ({ target, pausedAt }: Delivery) => target !== 'disabled' && pausedAt === null;

function describe(one: Whole, now: number, place: Place): (readonly [string, HtmlValue] | false)[] {
  const { id, state, createdAt, settledAt, dueAt, attempts, estab, rp, method, url, databaseName } = one;
  return [
    ['Id', html`<span class="id">${id}</span>`],
    ['To', html`${renderMethod(method)} ${renderUrl(url, longestUrl)}`],
    ['Target', place.target(one.lane)],
    ['School', place.school(estab)],
    place.rp === undefined && ['Application', applicationLink(rp)],
    databaseName !== null && ['Database', databaseName],
    ['Made', renderAgo(createdAt, now)],
    ['Attempts', String(attempts)],
    state === 'waiting' && isSent(one) && ['Next try', html`${renderAgo(dueAt, now)} <span class="quiet">(${formatExact(dueAt)})</span>`],
    settledAt !== null && ['Settled', renderAgo(settledAt, now)],
  ];
}

/** The reason, and what to do, before everything else. */
function renderWhy(one: Whole, { paths }: Place): Html | undefined {
  const last = one.log.at(-1);
  const fault = last && !last.success ? explainFault(last, { over: one.state !== 'waiting' && one.state !== 'running' }) : undefined;
  const target = findTargetId(one.lane);
  const link = target && html` <a href="${paths.target(target.id)}">To the target</a>`;
  const held = one.target === 'disabled'
    ? html`<p>Its target is disabled: ${asSent(one.targetWhy ?? '')}. Nothing more is sent there until it is enabled.${link}</p>`
    : one.pausedAt !== null && html`<p>Its target is paused: what waits is sent when it is resumed.${link}</p>`;
  if (one.state === 'done' || (!fault && !held)) return undefined;
  return html`<div class="${one.state === 'failed' ? 'box problem' : 'card held'}" id="why">
${fault && html`<p><strong>${showSteering(fault.what)}</strong></p><p>${fault.advice}</p>`}${held}</div>`;
}

function renderReplay(visit: Visit, { id, state }: Delivery, { paths }: Place): Html | undefined {
  const label = state === 'waiting' ? 'Replay it now' : 'Replay this delivery';
  const doing = state === 'running' ? undefined : renderDoing(visit, { path: `${paths.delivery(id)}/replay`, id: 'replay', label });
  return doing && html`<div class="actions steering">${doing}</div>`;
}

function renderBody({ contentType, bytes, body, sealed }: Whole): Html {
  if (bytes === null && !sealed) return html`<section class="card"><h2>What is sent</h2><p class="quiet">No body: a GET says it all.</p></section>`;
  if (!body)
    return html`<section class="card"><h2>What is sent</h2>
<p class="quiet">${contentType ?? 'A body'}: not shown, since ${sealed ? 'it carries the school secret' : 'a form can hold what a person typed'}.</p>
</section>`;
  return html`<section class="card"><h2>What is sent</h2>${renderText(prettify(body), 'sent')}</section>`;
}

function prettify(body: Buffer): string {
  if (!isUtf8(body)) return renderResponse(body);
  try {
    return layOutJson(JSON.parse(body.toString('utf8')));
  } catch {
    return renderResponse(body);
  }
}

export const replayAction: Action = {
  path: `${deliveriesPath}/:id/replay`,
  name: 'replay',
  done: 'It is sent again, under the same webhook-id.',
  about: async (visit, _form, { db }) => ({ subject: visit.params.id, ...(await findOwnerOfDelivery(db, visit.params.id ?? '', readerOf(visit))) }),
  async run({ changes }, visit) {
    const { id } = await replayDelivery(changes, visit.params.id ?? '', ownerOf(visit));
    return { to: pathsOf(visit.params.rp).delivery(id) };
  },
};

export const replayOfApplicationAction = ofApplication(replayAction);
