// In charge of an import that waits for a school's word: who would go, and the two ways on from there.
import { describeShrinkage } from '../../collection/import-report.ts';
import type { Loss } from '../../collection/held.ts';
import { html, type Html } from '../../http/html.ts';
import { renderForm } from '../../http/pages/form.ts';
import type { School } from '../school-view.ts';
import type { Held } from '../../collection/source-view.ts';
import { formatCount, formatMoment } from '../../http/pages/figures.ts';
import { describeLoss } from '../../collection/pages/import-words.ts';

const approve = html`<button type="submit">It is right: let these go</button>`;
const discard = html`<button type="submit" class="second">Discard this import</button>`;

export function renderHeld({ connector, timeZone }: School, { id, at, kind, shrinkage, losses }: Held, token: string): Html {
  const packed = kind === 'upload' || kind === 'command';
  const seen = html`<input type="hidden" name="import" value="${id}" />`;
  return html`<section class="card held" aria-labelledby="held">
    <h2 id="held">An import waits for your word</h2>
    <p>
      With the import of ${formatMoment(at, timeZone)} an unusually large part of what is there would be lost. At the end of a school year that can be right; it
      can also mean that an export was incomplete. Nothing has been changed so far.
    </p>
    ${shrinkage.length > 0 && html`<p id="held-message"><strong>${describeShrinkage(shrinkage)}.</strong></p>`}
    ${losses.length > 0 && html`<h3>Who and what would go</h3> ${losses.map(renderLoss)}`}
    <p>
      If it is right, approve it: exactly this goes. ${!packed && html`Your data is read again then; if others would go by that time, you are asked again.`} If
      not, discard it${
        packed ? ': the package is dropped.' : connector === 'oneroster' ? ', have it put right at your provider and collect again.' : ' and have it put right.'
      }
    </p>
    <div class="actions">
      ${renderForm({ path: '/school/source/approve', token, id: 'approve-held', body: html`${seen}${approve}` })}
      ${renderForm({ path: '/school/source/discard', token, id: 'discard-held', body: html`${seen}${discard}` })}
    </div>
  </section>`;
}

/** People are shown at once, the rest on demand. */
function renderLoss(loss: Loss): Html {
  const more = loss.total - loss.names.length;
  return html`<details class="loss"${loss.collection === 'users' && html` open`}>
    <summary>${describeLoss(loss)}</summary>
    <ul class="names">
      ${loss.names.map((name) => html`<li><bdi>${name}</bdi></li>`)} ${more > 0 && html`<li class="quiet">and ${formatCount(more)} more</li>`}
    </ul>
  </details>`;
}
