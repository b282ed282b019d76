// In charge of where a state of a record came from and when, on a page.
import { describeOrigin, type Origin } from '../../collection/record-history.ts';
import { html, type Html } from '../../http/html.ts';
import { renderAgo } from '../../http/pages/moment.ts';

/** What a file or a provider is called is text: nothing there is a link. */
export function renderOrigin(origin: Origin): Html {
  return html`<bdi>${describeOrigin(origin)}</bdi>`;
}

export function renderWhen(stamp: string | null, version: number, now: number): Html {
  return html`${stamp === null ? html`<span class="quiet">forgotten when</span>` : renderAgo(new Date(stamp), now)}, version ${version}`;
}
