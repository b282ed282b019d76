// In charge of the page of one application: what it may read, how to stop it, what it has read, and what happened.
import { html, type Html } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { renderForm } from '../../http/pages/form.ts';
import { isOver, type Entry, type Read, type School, type SharedApplication } from '../school-view.ts';
import type { ScopePreview } from '../scope-preview.ts';
import { renderAsker } from './asker.ts';
import { formatDay, formatMany } from '../../http/pages/figures.ts';
import { renderPage } from './layout.ts';
import { renderHistory, renderReads } from './ledger.ts';
import { renderScope } from './scope-list.ts';
import { describeApplication, describeLastRead } from './state-words.ts';

type Given = {
  school: School;
  application: SharedApplication;
  scopes: ScopePreview[];
  entries: Entry[];
  reads: Read[];
  token: string;
  notice: string | undefined;
};

export function renderApplication({ school, application, scopes, entries, reads, token, notice }: Given): string {
  const { name, rp, state, since, lastRead, waitingCalls } = application;
  const words = describeApplication(state);
  return renderPage({
    title: name,
    session: { school, token },
    section: 'home',
    notice,
    body: html`<p class="back"><a href="/school/home">All applications</a></p>
      <h1><bdi>${name}</bdi> ${renderBadge(words)}</h1>
      <section class="card" aria-label="How it stands">
        <p id="state">${words.text}</p>
        <dl class="facts">
          <div>
            <dt>Known here as</dt>
            <dd><code>${rp}</code></dd>
          </div>
          ${state !== 'Removed' && renderAsker(application)}
          <div>
            <dt>Last changed</dt>
            <dd>${formatDay(since, school.timeZone)}</dd>
          </div>
          <div>
            <dt>Last read</dt>
            <dd>${describeLastRead(lastRead)}</dd>
          </div>
          ${
            state !== 'Removed' &&
            html`<div>
              <dt>Messages waiting</dt>
              <dd id="waiting-calls">${waitingCalls === 0 ? 'None' : `${formatMany(waitingCalls, 'message')} for this application still to be delivered`}</dd>
            </div>`
          }
        </dl>
      </section>
      ${!isOver(application) && renderGranted(application, scopes, token)} ${!isOver(application) && renderStops(application, token)} ${renderReads(reads)}
      ${renderHistory(entries, name, school.timeZone)}`,
  });
}

const pathOf = ({ rp }: SharedApplication) => `/school/applications/${encodeURIComponent(rp)}`;

function renderGranted(application: SharedApplication, previews: ScopePreview[], token: string): Html {
  const { scopes, required, optional } = application;
  const needed = previews.filter(({ scope }) => required.includes(scope));
  const choices = previews.filter(({ scope }) => optional.includes(scope));
  // Granted once, and not among what the application asks for today.
  const others = previews.filter(({ scope }) => !required.includes(scope) && !optional.includes(scope));
  return html`<section class="card" aria-labelledby="granted">
    <h2 id="granted">What it may read</h2>
    ${
      needed.length + others.length > 0 &&
      html`<p>The application needs this. To share none of it, pause or revoke.</p>
        <ul class="scopes" id="needed">
          ${needed.map((preview) =>
            renderScope({
              preview,
              ...(scopes.includes(preview.scope) ? {} : { note: 'Not shared: the application has to ask you for it first.' }),
            }),
          )}
          ${others.map((preview) => renderScope({ preview }))}
        </ul>`
    }
    ${
      choices.length > 0 &&
      renderForm({
        path: pathOf(application),
        token,
        id: 'change-scopes',
        body: html`<input type="hidden" name="action" value="scopes" />
          <fieldset>
            <legend><h3>You can add this or take it away</h3></legend>
            <p>What is ticked is shared. A change holds from the next request of the application.</p>
            <ul class="scopes inner">
              ${choices.map((preview) => renderScope({ preview, choice: { checked: scopes.includes(preview.scope) } }))}
            </ul>
          </fieldset>
          <button type="submit">Save what it may read</button>`,
      })
    }
  </section>`;
}

function renderStops(application: SharedApplication, token: string): Html {
  const path = pathOf(application);
  const form = (action: string, body: Html) =>
    renderForm({ path, token, id: action, body: html`<input type="hidden" name="action" value="${action}" />${body}` });
  return html`<section class="card" aria-labelledby="stop">
    <h2 id="stop">Stop sharing</h2>
    <div class="halves">
      <div>
        ${
          application.state === 'Paused'
            ? html`<h3>Resume</h3>
                <p>It can read again what you have allowed, with the access that it had.</p>
                ${form('resume', html`<button type="submit" class="second">Resume</button>`)}`
            : html`<h3>Pause</h3>
                <p>From the next request on it can read nothing, and messages that wait for it are stopped. You can resume at any time.</p>
                ${form('pause', html`<button type="submit" class="second">Pause</button>`)}`
        }
      </div>
      <div>
        <h3>Revoke</h3>
        <p>
          Its access ends for good; it would have to ask you again. <strong>What it has read already stays with the application</strong>: ask it to delete what
          it no longer needs.
        </p>
        <details id="revoke-step">
          <summary class="opens">Revoke access</summary>
          ${form(
            'revoke',
            html`<p>Access ends at once.</p>
              <button type="submit" class="danger">Yes, revoke access</button>`,
          )}
        </details>
      </div>
    </div>
  </section>`;
}
