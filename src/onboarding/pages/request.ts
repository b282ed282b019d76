// In charge of the page of one request: who asks for what and why, and the two buttons.
import { html, type Html } from '../../http/html.ts';
import { renderForm } from '../../http/pages/form.ts';
import type { Request, School } from '../school-view.ts';
import type { ScopePreview } from '../scope-preview.ts';
import { renderAsker } from './asker.ts';
import { formatMoment } from '../../http/pages/figures.ts';
import { renderPage } from './layout.ts';
import { renderScope, renderScopeNames } from './scope-list.ts';

type Given = { school: School; request: Request; required: ScopePreview[]; optional: ScopePreview[]; sendsMail: boolean; token: string };

export function renderRequest({ school, request, required, optional, sendsMail, token }: Given): string {
  return renderPage({
    title: `${request.application} asks for data`,
    session: { school, token },
    section: 'home',
    body: html`<p class="back"><a href="/school/home">All applications</a></p>
<h1><bdi>${request.application}</bdi> asks for data of your school</h1>
${renderWho(school, request)}
${renderForm({
  path: `/school/requests/${request.id}`,
  token,
  id: 'decide',
  // The return key presses the first button, wherever one is in the form. This one leads nowhere: outside a dialog,
  // the method does nothing. A disabled one would be passed over for Approve.
  body: html`<button type="submit" formmethod="dialog" hidden></button>
<input type="hidden" name="asked" value="${renderAsked(request)}">
${renderRequired(request, required)}
${renderOptional(request, optional)}
${renderDecision(school, request, sendsMail)}`,
})}`,
  });
}

/** What the school has seen on the page: an application may ask for more at any time. */
export function renderAsked({ required, optional }: Pick<Request, 'required' | 'optional'>): string {
  return `${required.join(',')};${optional.join(',')}`;
}

function renderWho({ timeZone }: School, request: Request): Html {
  const { application, rp, invitedBy, reason, expiresAt, granted } = request;
  return html`<section class="card" aria-labelledby="who">
    <h2 id="who">Who asks</h2>
    <dl class="facts">
      <div>
        <dt>Application</dt>
        <dd><bdi>${application}</bdi></dd>
      </div>
      <div>
        <dt>Known here as</dt>
        <dd><code>${rp}</code></dd>
      </div>
      ${renderAsker(request)}
      <div>
        <dt>Sent by</dt>
        <dd id="sent-by">${invitedBy === 'application' ? 'The application itself' : 'The operator of this service, for the application'}</dd>
      </div>
      <div>
        <dt>You can decide until</dt>
        <dd>${formatMoment(expiresAt, timeZone)}</dd>
      </div>
      ${
        granted.length > 0 &&
        html`<div>
          <dt>It may read already</dt>
          <dd id="granted">${renderScopeNames(granted)}</dd>
        </div>`
      }
    </dl>
    ${
      reason
        ? html`<h3>In its own words</h3>
            <blockquote id="reason"><p dir="auto">${reason}</p></blockquote>
            <p class="quiet">The application wrote this. Nobody has checked it.</p>`
        : html`<p class="quiet">The application gave no reason.</p>`
    }
  </section>`;
}

function renderRequired({ granted }: Request, required: ScopePreview[]): Html | undefined {
  if (required.length === 0) return undefined;
  return html`<section class="card" aria-labelledby="required">
<h2 id="required">What it needs</h2>
<p>If you approve, all of this is shared: every field that is listed, as far as your system exports it. The numbers and examples are of your own school.</p>
<ul class="scopes">
${required.map((preview) => renderScope({ preview, ...(granted.includes(preview.scope) ? { note: 'It has this already.' } : {}) }))}
</ul>
</section>`;
}

function renderOptional({ granted }: Request, optional: ScopePreview[]): Html | undefined {
  if (optional.length === 0) return undefined;
  return html`<fieldset class="card" id="optional">
    <legend><h2>What you can add</h2></legend>
    <p>The application works without this. Tick only what you want to share.</p>
    <ul class="scopes">
      ${optional.map((preview) =>
        renderScope({
          preview,
          choice: { checked: granted.includes(preview.scope) },
          ...(granted.includes(preview.scope) ? { note: 'It has this already; without the tick it loses it.' } : {}),
        }),
      )}
    </ul>
  </fieldset>`;
}

function renderDecision({ connector }: School, { application, granted }: Request, sendsMail: boolean): Html {
  const receipt = sendsMail ? 'a receipt goes to your school' : 'the operator of this service keeps your receipt, because e-mail is not set up';
  const next = connector === null ? 'the next step is to connect your data' : 'it is told that it can begin';
  const kept = granted.length > 0 ? 'nothing changes: what it may read already stays as it is' : 'nothing is shared, and the application is not told why';
  return html`<section class="card decision" aria-labelledby="decision">
    <h2 id="decision">Your decision</h2>
    <p>
      <strong>If you approve</strong>, <bdi>${application}</bdi> may read what it needs and what you ticked until you pause or revoke it; ${receipt},
      and ${next}.
    </p>
    <p>It is also told the name, the number and the e-mail address of your school.</p>
    <p><strong>If you decline</strong>, ${kept}.</p>
    <div class="actions">
      <button type="submit" name="decision" value="approve">Approve</button>
      <button type="submit" name="decision" value="decline" class="second">Decline</button>
    </div>
  </section>`;
}
