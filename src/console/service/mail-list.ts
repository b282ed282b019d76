// In charge of the page of all mails: to whom, about what, and what became of each.
import { cutPage } from '../../http/cut-page.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderBadge, type Badge } from '../../http/pages/badge.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { formatMany } from '../../http/pages/figures.ts';
import { renderFilters } from '../../http/pages/filters.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { addressOf, renderPager } from '../../http/pages/pager.ts';
import { renderTable } from '../../http/pages/table.ts';
import { withoutSecrets } from '../../mail/links.ts';
import { listMails, type ListedMail, type MailState } from '../../mail/list-mails.ts';
import { parseWorkKey, renderWorkKey, workStates } from '../../outbox/list-work.ts';
import { pageLength, renderConsole } from '../layout.ts';
import { mailListPath, mailPath, schoolLink } from '../links.ts';
import type { Page } from '../visit.ts';
import { keptFor } from './things.ts';

const choices = [
  { value: 'waiting', label: 'Waiting or failing' },
  { value: 'failed', label: 'Failed' },
  { value: 'running', label: 'Being sent' },
  { value: 'done', label: 'Sent or kept' },
] as const;

export const mailBadges: Readonly<Record<MailState, Badge>> = {
  waiting: { badge: 'Waiting', tone: 'wait' },
  sending: { badge: 'Being sent', tone: 'busy' },
  sent: { badge: 'Sent', tone: 'good' },
  kept: { badge: 'Kept, not sent', tone: 'off' },
  failing: { badge: 'Failing', tone: 'bad' },
  failed: { badge: 'Failed', tone: 'bad' },
  cancelled: { badge: 'Cancelled', tone: 'off' },
};

export const mailListPage: Page = {
  path: mailListPath,
  async show({ db, config, retained, now }, visit) {
    const [estab, before] = [visit.query.one('estab'), parseWorkKey(visit.query.one('before'))];
    const state = choices.find(({ value }) => value === visit.query.one('state'))?.value ?? '';
    const found = await listMails(db, {
      states: workStates.filter((one) => state === '' || one === state),
      estab: estab === '' ? undefined : estab,
      before,
      most: pageLength + 1,
    });
    const { shown: mails, last } = cutPage(found, pageLength);
    const next = last && addressOf(mailListPath, { state, estab, before: renderWorkKey(last.work.key) });
    const body = html`<h1>Mail</h1>
${config.mail ? html`<p class="quiet">Mails are sent. When one was, its text is erased: its links are for the receiver alone.</p>` : renderKept()}
${renderFilters({
  path: mailListPath,
  filters: [
    { kind: 'choice', name: 'state', label: 'State', value: state, all: 'Any state', choices },
    { kind: 'text', name: 'estab', label: 'School number', value: estab },
  ],
})}
${mails.length === 0 ? renderNone(state !== '' || estab !== '' || before !== undefined) : renderMails(mails, keptFor(retained, 'outbox'), now())}
${renderPager({ first: before && addressOf(mailListPath, { state, estab }), next })}`;
    return renderConsole(visit, { title: 'Mail', section: 'mail', body });
  },
};

function renderKept(): Html {
  return html`<div class="box step"><p><strong>Nothing is sent.</strong> There is no <code>SMTP_URL</code>, so that mails are kept here and can be
read. With one, and <code>MAIL_FROM</code>, they are sent; those that were kept can then be sent one by one.</p></div>`;
}

function renderNone(narrowed: boolean): Html {
  if (narrowed) return renderEmpty('No mail is like that.', { path: mailListPath, label: 'Show all' });
  return renderEmpty('Mails to schools, staff and applications will be here: invitations, links to sign in, receipts, and what goes wrong.');
}

function renderMails(mails: readonly ListedMail[], kept: string, now: number): Html {
  return renderTable({
    id: 'mails',
    caption: `Newest first; what was settled is kept for ${kept}`,
    columns: ['Subject', 'To', 'State', 'School', 'Written', 'Why'],
    rows: mails.map((mail) => [
      html`<a href="${mailPath(mail.id)}">${withoutSecrets(mail.subject) || '(no subject)'}</a>`,
      mail.to,
      renderBadge(mailBadges[mail.state]),
      schoolLink(mail.estab),
      renderAgo(mail.created, now),
      renderWhy(mail, now),
    ]),
    stacked: true,
  });
}

function renderWhy({ state, error, next, attempts }: ListedMail, now: number): HtmlValue {
  if (state === 'failing') return html`${error ?? ''}; tried ${formatMany(attempts, 'time')}, again ${renderAgo(next, now)}`;
  return state === 'failed' && (error ?? 'no reason was given');
}
