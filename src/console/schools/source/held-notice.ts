// The notice that an import waits for approval, wherever an operator sees the school's data.
import { describeShrinkage } from '../../../collection/import-report.ts';
import type { Held } from '../../../collection/source-view.ts';
import { html, type Html } from '../../../http/html.ts';
import { renderAgo } from '../../../http/pages/moment.ts';
import { heldPath } from '../../links.ts';

/** next: it is the next thing to do, and not said above already. */
export function renderHeldNotice(estab: string, { at, shrinkage }: Held, now: number, next = true): Html {
  return html`<div class="box step" id="held-notice">
<p><strong>An import waits for approval.</strong> ${describeShrinkage(shrinkage)}. It was read ${renderAgo(at, now)}. Nothing was
changed.</p>
<p><a${next && html` class="button"`} href="${heldPath(estab)}">See what would be deleted, and decide</a></p>
</div>`;
}
