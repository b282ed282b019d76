// In charge of a record as JSON in each dialect, made by what answers requests: as an application gets it that may see everything.
import { html, type Html } from '../../http/html.ts';
import { seeAll } from '../../rostering/see-as-application.ts';
import type { Sight } from '../../rostering/see-record.ts';
import type { ConsoleParts, Visit } from '../visit.ts';
import { renderHead, type Subject } from './around.ts';

export async function showJson({ db, config }: ConsoleParts, _visit: Visit, subject: Subject): Promise<Html> {
  const { school: { estab }, resource: { collection }, sourcedId } = subject;
  const sights = await seeAll(db, config.publicUrl, { estab, collection, sourcedId });
  return html`${renderHead(subject, 'json')}
<p class="quiet">As an application gets it to which the school has opened everything.</p>
${sights.map((sight) => html`<section class="card"><h2>${sight.title}</h2>${renderSight(sight)}</section>`)}`;
}

export function renderSight(sight: Sight): Html {
  if (sight.record)
    return html`<p><code>GET ${sight.address}</code></p>
<pre class="json" tabindex="0" role="region" aria-label="JSON, ${sight.title}"><code>${JSON.stringify(sight.record, undefined, 2)}</code></pre>`;
  if (sight.refused) return html`<p><code>GET ${sight.address}</code></p><p>It is refused: ${sight.refused.message}</p>`;
  return html`<p>This variant does not offer such records.</p>`;
}
