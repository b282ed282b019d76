// An import that waits for the school's approval: what it would delete, and the forms that approve or discard it.
import { describeShrinkage } from '../../collection/import-report.ts';
import type { Loss } from '../../collection/held.ts';
import { html, type Html } from '../../http/html.ts';
import { renderForm } from '../../http/pages/form.ts';
import type { School } from '../school-view.ts';
import type { Held } from '../../collection/source-view.ts';
import { formatCount, formatMoment } from '../../http/pages/figures.ts';
import { describeLoss } from '../../collection/pages/import-words.ts';

const approve = html`<button type="submit">Approve import</button>`;
const discard = html`<button type="submit" class="second">Discard import</button>`;

export function renderHeld({ connector, timeZone }: School, { id, at, kind, shrinkage, losses }: Held, token: string): Html {
  const packed = kind === 'upload' || kind === 'command';
  const seen = html`<input type="hidden" name="import" value="${id}" />`;
  return html`<section class="card held" aria-labelledby="held">
    <h2 id="held">An import waits for your approval</h2>
    <p>
      The import of ${formatMoment(at, timeZone)} would change your data as listed here. Nothing has been changed so far. At the end of a school year it can be
      right. It can also mean that the export was incomplete.
    </p>
    ${shrinkage.length > 0 && html`<p id="held-message"><strong>${describeShrinkage(shrinkage)}.</strong></p>`}
    ${losses.length > 0 && html`<h3>What would be deleted</h3> ${losses.map(renderLoss)}`}
    <p>
      If it is right, approve it. Exactly these records are then deleted.
      ${!packed && html`Your data is read again for that. If other records would be deleted by then, you are asked again.`} If it is wrong, discard it${
        packed
          ? ', and the upload is deleted.'
          : connector === 'oneroster'
            ? ', have it put right at your provider and fetch the data again.'
            : ' and have it put right.'
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
