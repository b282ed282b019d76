// In charge of saying that an import waits for a decision, wherever an operator sees the school's data.
import { describeShrinkage } from '../../../collection/import-report.ts';
import type { Held } from '../../../collection/source-view.ts';
import { html, type Html } from '../../../http/html.ts';
import { renderAgo } from '../../../http/pages/moment.ts';
import { heldPath } from '../../links.ts';

/** next: it is the next thing to do, and not said above already. */
export function renderHeldNotice(estab: string, { at, shrinkage }: Held, now: number, next = true): Html {
  return html`<div class="box step" id="held-notice">
<p><strong>An import is held.</strong> ${shrinkage.length > 0 && `${describeShrinkage(shrinkage)}.`} It was held ${renderAgo(at, now)}; nothing
was changed.</p>
<p><a${next && html` class="button"`} href="${heldPath(estab)}">See who would go, and decide</a></p>
</div>`;
}
