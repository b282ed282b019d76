// In charge of who an application is, as it says itself: its website, its privacy notice and whom to write to. A link
// shows where it leads, and leads nowhere but to the web.
import { html, type Html } from '../../http/html.ts';
import type { Asker } from '../school-view.ts';

/** As rows of a list of facts. */
export function renderAsker({ website, privacyNotice, contact }: Asker): Html {
  return html`<div>
      <dt>Website</dt>
      <dd id="website">${website ? renderLink(website) : 'It has named none'}</dd>
    </div>
    <div>
      <dt>Privacy notice</dt>
      <dd id="privacy-notice">${privacyNotice ? renderLink(privacyNotice) : 'It has named none: ask for it before you share data of people'}</dd>
    </div>
    <div>
      <dt>Contact</dt>
      <dd id="contact">${contact ? renderContact(contact) : 'It has named none'}</dd>
    </div>`;
}

/** The host as it is called in the end, so that nothing before it can pretend to be one. */
function renderLink(text: string): Html {
  const at = URL.canParse(text) ? new URL(text) : undefined;
  if (!at || !['http:', 'https:'].includes(at.protocol) || at.username !== '' || at.password !== '') return html`<bdi>${text}</bdi>`;
  const rest = `${at.pathname}${at.search}`;
  return html`<a href="${at.href}" rel="noreferrer noopener external"><bdi>${at.host}</bdi>${rest !== '/' && html`<bdi class="rest">${rest}</bdi>`}</a>`;
}

function renderContact(text: string): Html {
  return /^[^\s@,;:/<>()"?&]+@[^\s@,;:/<>()"?&]+$/.test(text) ? html`<a href="mailto:${encodeURI(text)}"><bdi>${text}</bdi></a>` : html`<bdi>${text}</bdi>`;
}
