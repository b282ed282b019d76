// In charge of the page of one mail: what it says, what became of it, and sending it again. What opens something (a school's
// pages, a login, an account) is left out of it; an admin may see that too, which stands in the audit trail as a deed of its own.
import { noteLook, type Deed } from '../../access/audit-trail.ts';
import { findRefusal, retryWork } from '../../durable-work.ts';
import { SchoolbellError } from '../../errors.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { renderFacts } from '../../http/pages/facts.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { splitLinks, withoutSecrets, type Piece } from '../../mail/links.ts';
import { findMail } from '../../mail/list-mails.ts';
import { listWorkAttempts } from '../../outbox/list-work.ts';
import { renderDoing } from '../doing.ts';
import { renderConsole } from '../layout.ts';
import { applicationLink, mailListPath, mailPath, schoolLink } from '../links.ts';
import { mayChange, type Action, type ConsoleParts, type Page, type Shown, type Visit } from '../visit.ts';
import { renderAttempts } from './attempts.ts';
import { mailBadges } from './mail-list.ts';
import { keptFor, renderId } from './things.ts';

type Mail = NonNullable<Awaited<ReturnType<typeof findMail>>>;

/** Of the links that mails have, those to sign in expire first. */
const shortestLinkMs = 3_600_000;

export const mailPage: Page = {
  path: `${mailListPath}/:id`,
  async show(parts, visit) {
    const mail = await requireMail(parts, visit);
    if (!visit.problem) await noteLook(parts.changes, visit.actor, { action: 'look at mail', ...aboutMail(mail) });
    return show(parts, visit, mail, false);
  },
};

/** Shown this once: whoever comes back to the address sees no links. */
export const openMailAction: Action = {
  path: `${mailListPath}/:id/links`,
  name: 'see links of mail',
  about: async (visit, _form, parts) => aboutMail(await requireMail(parts, visit)),
  async run(parts, visit) {
    return show(parts, visit, await requireMail(parts, visit), true);
  },
};

export const sendMailAction: Action = {
  path: `${mailListPath}/:id/send`,
  name: 'work retry',
  done: 'The mail is sent now.',
  about: async (visit, _form, parts) => aboutMail(await requireMail(parts, visit)),
  async run(parts, visit) {
    const { id } = await requireMail(parts, visit);
    await retryWork(parts.changes, id);
    return { to: mailPath(id) };
  },
};

async function requireMail({ db, retained }: Pick<ConsoleParts, 'db' | 'retained'>, { params: { id = '' } }: Visit): Promise<Mail> {
  const mail = await findMail(db, id);
  if (!mail) throw new SchoolbellError('not_found', `There is no such mail; what was settled is kept for ${keptFor(retained, 'outbox')}.`);
  return mail;
}

/** Not to whom: that may be somebody who is purged before the trail is, and the mail with them. */
function aboutMail({ id, estab, rp }: Mail): Omit<Deed, 'action'> {
  return { estab: estab === '' ? undefined : estab, rp: rp ?? undefined, subject: id };
}

async function show({ db, config, now }: ConsoleParts, visit: Visit, mail: Mail, links: boolean): Promise<Shown> {
  const subject = withoutSecrets(mail.subject) || '(no subject)';
  const attempts = await listWorkAttempts(db, mail.work);
  const body = html`<h1>${subject}</h1>
<section class="card">
${renderFacts([
  ['State', renderBadge(mailBadges[mail.state])],
  ['To', mail.to],
  ['From', config.mail?.from ?? html`<span class="quiet">nobody: there is no <code>MAIL_FROM</code></span>`],
  ['Written', renderAgo(mail.created, now())],
  mail.sent !== null && ['Sent', renderAgo(mail.sent, now())],
  mail.error !== null && ['Why', mail.error],
  mail.next !== null && ['Tried again', renderAgo(mail.next, now())],
  mail.estab !== '' && ['School', schoolLink(mail.estab)],
  mail.rp !== null && ['Application', applicationLink(mail.rp)],
  ['Id', renderId(mail.id)],
])}
${renderSend(visit, mail, await findRefusal(db, mail.work), config.mail !== undefined, now())}
</section>
${renderText(visit, mail, links, config.publicUrl)}
${renderAttempts(attempts, now())}`;
  return renderConsole(visit, { title: subject, section: 'mail', body, back: { path: mailListPath, label: 'All mails' } });
}

function renderSend(visit: Visit, { id, state, created, body }: Mail, refusal: string | undefined, sends: boolean, now: number): HtmlValue {
  if (refusal !== undefined) return html`<p class="quiet">${refusal}</p>`;
  if (state === 'kept' && !sends) return html`<p class="quiet">It can be sent once <code>SMTP_URL</code> is set.</p>`;
  if (!mayChange(visit)) return html`<p class="quiet">An admin can send it.</p>`;
  const old = body !== undefined && withoutSecrets(body.text) !== body.text && now - created.getTime() > shortestLinkMs;
  return renderDoing(visit, {
    path: `${mailPath(id)}/send`,
    id: 'send',
    label: 'Send now',
    body: old && html`<p class="caution">Its links count since it was written, ${renderAgo(created, now)}, and may have expired. Whoever needs one that
opens something should ask for a new one.</p>`,
  });
}

function renderText(visit: Visit, { id, body }: Mail, links: boolean, publicUrl: string): Html {
  const erased = 'It was erased when the mail was sent: its links are for the receiver alone.';
  if (!body) return html`<section class="card"><h2>Text</h2><p class="quiet">${erased}</p></section>`;
  const hides = withoutSecrets(body.text) !== body.text;
  return html`<section class="card">
<h2>Text</h2>
<div class="letter" id="text">${links ? splitLinks(body.text, publicUrl).map(renderPiece) : withoutSecrets(body.text)}</div>
${links && html`<p class="caution">Whoever opens one of these links is taken for its receiver. That you saw them is in the audit trail.</p>
<details><summary>The same as HTML</summary><pre class="letter">${body.html}</pre></details>`}
${!links && hides && renderHidden(visit, id)}
</section>`;
}

function renderHidden(visit: Visit, id: string): Html {
  const why = 'What opens a school’s pages, a login or an account is left out of its links.';
  if (!mayChange(visit)) return html`<p class="quiet">${why} Only an admin can see it.</p>`;
  return html`<p class="quiet">${why} If you look, that is in the audit trail.</p>
${renderDoing(visit, { path: `${mailPath(id)}/links`, id: 'links', look: 'second', label: 'Show the links' })}`;
}

function renderPiece({ text, link }: Piece): HtmlValue {
  return link === undefined ? text : html`<a href="${link}" rel="noreferrer">${text}</a>`;
}
