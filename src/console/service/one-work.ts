// In charge of the page of one piece of durable work: how it stands, every attempt, and trying it again.
import { listProcesses, pidOf, type ConnectedProcess } from '../../db/list-processes.ts';
import { describeWork, findRefusal, labelOfWork, requireWork, retryWork } from '../../durable-work.ts';
import { html, type HtmlValue } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { renderFacts } from '../../http/pages/facts.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { mailKind } from '../../mail/mail.ts';
import { listWorkAttempts, type Work } from '../../outbox/list-work.ts';
import { renderDoing } from '../doing.ts';
import { renderConsole } from '../layout.ts';
import { applicationLink, schoolLink, workListPath, workPath } from '../links.ts';
import { mayChange, type Action, type Page, type Visit } from '../visit.ts';
import { renderAttempts } from './attempts.ts';
import { badgeOfEnding, readEndings, renderEnding } from './endings.ts';
import { renderId } from './things.ts';
import { badgeOfWork, pathOfWork } from './work-list.ts';

export const workPage: Page = {
  path: `${workListPath}/:id`,
  async show({ db, now }, visit) {
    const work = await requireWork(db, visit.params.id ?? '');
    const attempts = await listWorkAttempts(db, work);
    const ending = (await readEndings(db, [work])).get(work.id);
    const title = `${labelOfWork(work.kind)} ${describeWork(work)}`.trim();
    const body = html`<h1>${title}</h1>
<section class="card">
${renderFacts([
  ['State', renderBadge(badgeOfEnding(ending) ?? badgeOfWork(work))],
  work.state === 'running' && ['Under way since', renderAgo(work.since, now(), 'an unknown time')],
  work.by !== null && ['By', renderProcess(work.by, await listProcesses(db), now())],
  work.state === 'waiting' && ['Due', renderAgo(work.due, now())],
  work.error !== null && (work.state !== 'done' || ending) && ['Why', work.error],
  ending && ['Import', renderEnding(work.estab, ending)],
  ['Attempts', String(work.attempts)],
  ['Asked for', renderAgo(work.created, now())],
  work.settled !== null && ['Ended', renderAgo(work.settled, now())],
  work.estab !== '' && ['School', schoolLink(work.estab)],
  work.rp !== null && ['Application', applicationLink(work.rp)],
  work.kind === mailKind && ['What it says', html`<a href="${pathOfWork(work)}">The mail</a>`],
  ['Id', renderId(work.id)],
])}
${renderRetry(visit, work, await findRefusal(db, work))}
</section>
${renderAttempts(attempts, now())}`;
    return renderConsole(visit, { title, section: 'work', body, back: { path: workListPath, label: 'All work' } });
  },
};

export const retryWorkAction: Action = {
  path: `${workListPath}/:id/retry`,
  name: 'work retry',
  done: 'It is tried again.',
  about: async ({ params }, _form, { db }) => {
    const { estab, rp, id, kind } = await requireWork(db, params.id ?? '');
    return { estab: estab === '' ? undefined : estab, rp: rp ?? undefined, subject: id, detail: { kind } };
  },
  async run({ changes }, { params }) {
    const { id } = await retryWork(changes, params.id ?? '');
    return { to: workPath(id) };
  },
};

function renderRetry(visit: Visit, work: Work, refusal: string | undefined): HtmlValue {
  if (refusal !== undefined) return html`<p class="quiet">${refusal}</p>`;
  if (!mayChange(visit)) return html`<p class="quiet">An admin can have it tried again.</p>`;
  return renderDoing(visit, { path: `${workPath(work.id)}/retry`, id: 'retry', label: work.state === 'waiting' ? 'Try now' : 'Try again' });
}

/** by: the mark that its connections have. */
function renderProcess(by: string, processes: readonly ConnectedProcess[], now: number): HtmlValue {
  const there = processes.find(({ tag }) => tag === by);
  if (!there) return html`process ${String(pidOf(by))}, which is not connected any more`;
  return html`process ${String(there.pid)}${there.address !== undefined && ` at ${there.address}`}, connected since ${renderAgo(there.since, now)}`;
}
