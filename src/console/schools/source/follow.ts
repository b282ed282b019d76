// In charge of what makes a page follow a collection that goes on.
import type { ComponentDatabase } from '../../../collection/component-databases.ts';
import { isBusy } from '../../../collection/pages/database-states.ts';
import { html, type Html } from '../../../http/html.ts';
import { scriptPaths } from '../../../http/pages/scripts.ts';

export type Following = { mark: Html | undefined; scripts: readonly string[] };

/**
 * mark: stands on the page for as long as there is something to follow.
 * underWay: a collection that the page shows has not ended; it does so a little later than its database says that it is collected.
 */
export function followCollections(databases: readonly ComponentDatabase[], underWay = false): Following {
  if (!underWay && !databases.some(isBusy)) return { mark: undefined, scripts: [] };
  return { mark: html`<p class="unseen" id="follow-words" role="status" data-follow></p>`, scripts: [scriptPaths.follow] };
}
