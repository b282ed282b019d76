// In charge of the upload token of a school: the one secret with which its export job sends packages.
import { findUploadToken, makeUploadToken, removeUploadToken } from '../../access/upload-tokens.ts';
import { renderUploadLine, uploadUrl } from '../../collection/upload-routes.ts';
import { SchoolbellError } from '../../errors.ts';
import { html } from '../../http/html.ts';
import { renderFacts } from '../../http/pages/facts.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { renderDoing } from '../doing.ts';
import { renderConsole } from '../layout.ts';
import { schoolPath, schoolRoute } from '../links.ts';
import { renderShownOnce } from '../shown-once.ts';
import type { Action, Page } from '../visit.ts';
import { estabOf, renderSchoolHead, schoolOf } from './around.ts';
import { nameActor } from './words.ts';

const path = `${schoolRoute}/upload-token`;

export const uploadTokenPage: Page = {
  path,
  async show(parts, visit) {
    const school = await schoolOf(parts, visit);
    const token = await findUploadToken(parts.db, school.estab);
    const here = `${schoolPath(school.estab)}/upload-token`;
    const now = parts.now();
    const body = html`${renderSchoolHead(school, 'source')}
<section class="card" aria-labelledby="token"><h2 id="token">Upload token</h2>
<p>With it the export job of the school sends its package to <span class="id">${uploadUrl(parts.config.publicUrl, school.estab)}</span>. It opens
nothing else.</p>
${
  token
    ? renderFacts([['Made', renderAgo(token.madeAt, now)], ['By', nameActor(token.madeBy)], ['Last used', renderAgo(token.lastUsedAt, now)]])
    : html`<p>The school has none.</p>`
}
${!school.confirmed && html`<p class="quiet">One can be made once the school is confirmed: whoever may send its data must be the school.</p>`}
<div class="actions">
${school.confirmed && renderDoing(visit, {
  path: `${here}/make`,
  id: 'make-token',
  label: token ? 'Make a new one in its place' : 'Make a token',
  // Names the one that is replaced: sent again by a reload, it replaces nothing a second time.
  body: html`<input type="hidden" name="replaces" value="${token?.id ?? ''}">`,
})}
${token && renderDoing(visit, { path: `${here}/remove`, id: 'remove-token', look: 'danger', label: 'Remove it' })}
</div>
${token && html`<p class="quiet">Whatever still sends with the old one is refused from that moment.</p>`}
</section>`;
    const back = { path: schoolPath(school.estab), label: school.name };
    return renderConsole(visit, { title: `Upload token of ${school.name}`, section: 'schools', back, body });
  },
};

export const uploadTokenActions: readonly Action[] = [
  {
    path: `${path}/make`,
    name: 'school upload-token',
    async run(parts, visit, form) {
      const { changes, config } = parts;
      const { estab, name } = await schoolOf(parts, visit);
      const token = await makeUploadToken(changes, estab, 'operator', form.one('replaces'));
      const title = `New upload token of ${name}`;
      const shown = renderShownOnce({
        secrets: [{ id: 'upload-token', label: 'Upload token', value: token }],
        more: html`<p>The export job sends its zip with:</p>
<pre class="command"><code>${renderUploadLine(uploadUrl(config.publicUrl, estab), token)}</code></pre>`,
        back: { path: `${schoolPath(estab)}/upload-token`, label: 'back to the upload token' },
      });
      return renderConsole(visit, { title, section: 'schools', body: html`<h1>New upload token of <bdi>${name}</bdi></h1>${shown}` });
    },
  },
  {
    path: `${path}/remove`,
    name: 'school upload-token',
    done: 'The upload token is removed. Whatever still sends with it is refused.',
    about: () => ({ detail: { remove: true } }),
    async run({ changes }, visit) {
      if (!(await removeUploadToken(changes, estabOf(visit), 'operator'))) throw new SchoolbellError('not_found', 'The school has no upload token.');
      return { to: `${schoolPath(estabOf(visit))}/upload-token` };
    },
  },
];
