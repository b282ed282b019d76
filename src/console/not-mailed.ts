// The hint on pages of the console whose links and receipts nobody gets by mail, because e-mail is not set up.
import { html, type Html } from '../http/html.ts';
import { mailListPath } from './links.ts';

/** `forDeveloper`: developers do not see the stored mails. */
export function renderNotMailed(forDeveloper = false): Html {
  const where = forDeveloper ? html`Ask the operator of this service for the link.` : html`The link is under <a href="${mailListPath}">Mail</a>: hand it on.`;
  return html`<p class="caution">E-mail is not set up, so nothing is mailed. ${where}</p>`;
}
