// In charge of the inboxes of an application: which there are, where each is, and making one.
import { html, type Html } from '../../http/html.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { renderInput, renderSelect } from '../../http/pages/field.ts';
import { formatCount } from '../../http/pages/figures.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { renderTable } from '../../http/pages/table.ts';
import { inboxUrl } from '../../notifications/inbox/address.ts';
import { addInbox, listInboxes, type Inbox, type InboxAnswer } from '../../notifications/inbox/inboxes.ts';
import { inboxLimits } from '../../notifications/inbox/receive.ts';
import { renderDoing } from '../doing.ts';
import { applicationPath, applicationRoute, inboxPath } from '../links.ts';
import { keptFor } from '../service/things.ts';
import type { Action, Page, Visit } from '../visit.ts';
import { openApplication, renderApplicationPage } from './place.ts';

export const inboxesRoute = `${applicationRoute}/inboxes`;
export const inboxLabels = { name: 'Name', answer: 'How it answers' } as const;

export const answerWords: Readonly<Record<InboxAnswer, string>> = {
  '200': '200: it has taken the call',
  '500': '500: something went wrong',
  '410': '410: nobody wants it any more',
  slow: 'Slowly: 200 after ten seconds',
  never: 'Never: whoever calls gives up',
};

export const inboxesPage: Page = {
  path: inboxesRoute,
  developers: true,
  async show({ db, config, retained, now }, visit) {
    const application = await openApplication(db, visit);
    const inboxes = await listInboxes(db, application.rp);
    return renderApplicationPage(visit, application, {
      title: 'Inboxes',
      tab: '/inboxes',
      body: html`<p>An inbox takes calls and shows them, while the application has no receiver of its own yet. Register its address as a webhook, give it as
a callback URL, or send something there yourself. Calls of this service reach it without leaving the service.</p>
<p class="quiet">Of each inbox the newest ${inboxLimits.keptCalls} calls are kept, for ${keptFor(retained, 'inbox_call')}, and of each body the first
${inboxLimits.keptBytes / 1024} KiB.</p>
${inboxes.length > 0 ? renderInboxes(inboxes, config.publicUrl, now()) : renderEmpty('No inbox yet. Those that are made will be listed here.')}
${renderAdd(visit, application.rp)}`,
    });
  },
};

function renderInboxes(inboxes: readonly Inbox[], publicUrl: string, now: number): Html {
  return renderTable({
    id: 'inboxes',
    caption: 'Inboxes, by name',
    stacked: true,
    columns: ['Inbox', 'Address', 'Answers', { label: 'Calls', number: true }, 'Last call'],
    rows: inboxes.map(({ rp, id, name, key, answer, calls, lastCall }) => [
      html`<a href="${inboxPath(rp, id)}"><bdi>${name}</bdi></a>`,
      html`<span class="id">${inboxUrl(publicUrl, key)}</span>`,
      answerWords[answer],
      formatCount(calls),
      renderAgo(lastCall, now, 'none'),
    ]),
  });
}

function renderAdd(visit: Visit, rp: string): Html | undefined {
  const form = renderDoing(visit, {
    path: `${applicationPath(rp)}/inboxes/add`,
    id: 'add-inbox',
    label: 'Make an inbox',
    body: html`${renderInput({
      name: 'name', label: inboxLabels.name, type: 'text', autocomplete: 'off', longest: 60, value: visit.typed?.one('name') ?? '',
      hint: 'What it is for: Webhooks, say.',
    })}
${renderAnswerChoice(visit.typed?.one('answer') ?? '200')}`,
  });
  return form && html`<section class="card"><h2>Make an inbox</h2>${form}</section>`;
}

export function renderAnswerChoice(value: string): Html {
  const choices = Object.entries(answerWords).map(([answer, label]) => ({ value: answer, label }));
  return renderSelect({ name: 'answer', label: inboxLabels.answer, value, choices });
}

export const addInboxAction: Action = {
  path: `${inboxesRoute}/add`,
  name: 'inbox add',
  developers: true,
  done: 'The inbox is there: whatever is sent to its address is shown here.',
  labels: inboxLabels,
  about: (_visit, form) => ({ detail: { name: form.one('name'), answer: form.one('answer') } }),
  async run({ db, changes, seal }, visit, form) {
    const { rp } = await openApplication(db, visit);
    const { id } = await addInbox(changes, seal, { rp, name: form.one('name'), answer: form.one('answer') });
    return { to: inboxPath(rp, id) };
  },
};
