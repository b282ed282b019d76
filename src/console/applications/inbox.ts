// In charge of the page of one inbox: its address, what came as it comes, how it answers, emptying and removing it.
import { html, type Html } from '../../http/html.ts';
import { renderBadge, type Badge } from '../../http/pages/badge.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { renderFacts } from '../../http/pages/facts.ts';
import { formatCount } from '../../http/pages/figures.ts';
import { formatExact, renderAgo } from '../../http/pages/moment.ts';
import { addressOf } from '../../http/pages/pager.ts';
import { scriptPaths } from '../../http/pages/scripts.ts';
import { renderTable } from '../../http/pages/table.ts';
import { inboxUrl } from '../../notifications/inbox/address.ts';
import { listCalls, type InboxCall } from '../../notifications/inbox/calls.ts';
import { editInbox, emptyInbox, removeInbox, requireInbox, type Inbox } from '../../notifications/inbox/inboxes.ts';
import type { Verdict } from '../../notifications/inbox/judge-signature.ts';
import { createMask } from '../../notifications/inbox/mask.ts';
import { asSent, renderMethod, renderUrl } from '../deliveries/words.ts';
import { renderDoing } from '../doing.ts';
import { applicationPath, inboxPath } from '../links.ts';
import type { Action, Page, Visit } from '../visit.ts';
import { answerWords, inboxesRoute, inboxLabels, renderAnswerChoice } from './inboxes.ts';
import { openApplication, renderApplicationPage } from './place.ts';

export const inboxPageRoute = `${inboxesRoute}/:id`;
const shown = 50;

const verdicts: Readonly<Record<Verdict, Badge>> = {
  right: { badge: 'Right', tone: 'good' },
  old: { badge: 'Right, by the old secret', tone: 'wait' },
  ended: { badge: 'By a secret that has ended', tone: 'bad' },
  'too-old': { badge: 'Too old', tone: 'bad' },
  wrong: { badge: 'Wrong', tone: 'bad' },
  none: { badge: 'None', tone: 'off' },
};

export const renderVerdict = (verdict: Verdict) => renderBadge(verdicts[verdict]);

export const inboxPage: Page = {
  path: inboxPageRoute,
  developers: true,
  async show({ db, seal, config, now }, visit) {
    const application = await openApplication(db, visit);
    const inbox = await requireInbox(db, application.rp, visit.params.id ?? '');
    const at = inboxPath(application.rp, inbox.id);
    const stopped = visit.query.one('stopped') === 'yes';
    const calls = await listCalls(db, seal, inbox, shown);
    const going = html`<a href="${addressOf(at, { stopped: 'yes' })}">Stop here</a> · <a href="${at}">Look again</a>`;
    return renderApplicationPage(visit, application, {
      title: `Inbox ${inbox.name}`,
      tab: '/inboxes',
      scripts: stopped ? [] : [scriptPaths.follow],
      body: html`<h2>Inbox <bdi>${inbox.name}</bdi></h2>
<section class="card">${renderFacts([
  ['Address', html`<span class="id">${inboxUrl(config.publicUrl, inbox.key)}</span>`],
  ['Answers', answerWords[inbox.answer]],
  ['Made', renderAgo(inbox.created, now())],
])}</section>
<p>${stopped ? html`Stopped. <a href="${at}">Go on</a>` : going}</p>
${!stopped && html`<p class="unseen" id="follow-words" role="status" data-follow></p>`}
<div id="tail" data-live><p id="tail-at" class="quiet">The newest ${shown}, as of ${formatExact(new Date(now()))}.</p>
${calls.length > 0 ? renderCalls(calls, at, now()) : renderEmpty('Nothing came yet. What is sent to the address appears here by itself.')}</div>
${renderSteering(visit, inbox, at)}`,
    });
  },
};

function renderCalls(calls: readonly InboxCall[], at: string, now: number): Html {
  const mask = createMask();
  return renderTable({
    id: 'calls',
    caption: 'Newest first',
    stacked: true,
    columns: ['When', 'Call', 'Signature', 'webhook-id', { label: 'Bytes', number: true }, 'Answered'],
    rows: calls.map(({ seq, received, method, path, verdict, webhookId, repeats, bytes, answer }) => [
      html`<a href="${at}/calls/${seq}" id="call-${seq}">${renderAgo(received, now)}</a>`,
      html`${renderMethod(method)} ${renderUrl(mask.address(withoutKey(path)))}`,
      renderVerdict(verdict),
      webhookId === null ? html`<span class="quiet">none</span>` : html`${asSent(webhookId)}${renderRepeats(repeats)}`,
      formatCount(bytes),
      answer,
    ]),
  });
}

/** The key stands once on the page. */
export const withoutKey = (path: string) => path.replace(/[A-Za-z0-9_-]{43}/, '…');

export function renderRepeats(repeats: number): Html | undefined {
  return repeats === 0 ? undefined : html` ${renderBadge({ badge: `Repeat ${repeats}`, tone: 'wait' })}`;
}

function renderSteering(visit: Visit, inbox: Inbox, at: string): Html | undefined {
  const choice = renderAnswerChoice(visit.typed?.one('answer') ?? inbox.answer);
  const edit = renderDoing(visit, { path: `${at}/edit`, id: 'edit-inbox', label: 'Save', body: choice });
  if (!edit) return undefined;
  return html`<section class="card"><h3>How it answers</h3>
<p>From the next call on. A target that is answered 410 is disabled, and one that fails for days too: enable it again on its page.</p>
${edit}</section>
<section class="card"><h3>Empty or remove it</h3>
<p>Emptied, it forgets what came and goes on. Removed, its address is none any more, and what is still sent there fails.</p>
<div class="actions">${renderDoing(visit, { path: `${at}/empty`, id: 'empty-inbox', label: 'Empty it', look: 'second' })}
${renderDoing(visit, { path: `${at}/remove`, id: 'remove-inbox', label: 'Remove it', look: 'danger' })}</div></section>`;
}

const about = ({ params }: Visit) => ({ subject: params.id });

export const editInboxAction: Action = {
  path: `${inboxPageRoute}/edit`,
  name: 'inbox edit',
  developers: true,
  done: 'It answers like this from now on.',
  labels: inboxLabels,
  about: (visit, form) => ({ ...about(visit), detail: { answer: form.one('answer') } }),
  async run({ changes }, { params }, form) {
    const { rp, id } = await editInbox(changes, { rp: params.rp ?? '', id: params.id ?? '', answer: form.one('answer') });
    return { to: inboxPath(rp, id) };
  },
};

export const endingInboxActions: readonly Action[] = [
  {
    path: `${inboxPageRoute}/empty`,
    name: 'inbox empty',
    developers: true,
    done: 'It is empty.',
    about,
    async run({ changes }, { params }) {
      const [rp, id] = [params.rp ?? '', params.id ?? ''];
      await emptyInbox(changes, rp, id);
      return { to: inboxPath(rp, id) };
    },
  },
  {
    path: `${inboxPageRoute}/remove`,
    name: 'inbox remove',
    developers: true,
    done: 'The inbox is removed.',
    about,
    async run({ changes }, { params }) {
      const { rp } = await removeInbox(changes, params.rp ?? '', params.id ?? '');
      return { to: `${applicationPath(rp)}/inboxes` };
    },
  },
];
