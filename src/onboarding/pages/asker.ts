// In charge of who an application is, as it says itself: its website, its privacy notice and whom to write to.
import { html, type Html } from '../../http/html.ts';
import { renderMailLink, renderOutsideLink } from '../../http/pages/outside-link.ts';
import type { Asker } from '../school-view.ts';

/** As rows of a list of facts. */
export function renderAsker({ website, privacyNotice, contact }: Asker): Html {
  return html`<div>
      <dt>Website</dt>
      <dd id="website">${website ? renderOutsideLink(website) : 'It has named none'}</dd>
    </div>
    <div>
      <dt>Privacy notice</dt>
      <dd id="privacy-notice">${privacyNotice ? renderOutsideLink(privacyNotice) : 'It has named none: ask for it before you share data of people'}</dd>
    </div>
    <div>
      <dt>Contact</dt>
      <dd id="contact">${contact ? renderMailLink(contact) : 'It has named none'}</dd>
    </div>`;
}
