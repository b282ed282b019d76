// In charge of the first page of a school: who waits for a decision, who may read, and where the data comes from.
import type { ComponentDatabase } from '../../collection/component-databases.ts';
import { describeConnector, describeDatabase, titleOf } from '../../collection/pages/database-words.ts';
import { html, type Html } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { isOver, type Request, type School, type SharedApplication } from '../school-view.ts';
import { refusedSince, type ListedRun } from '../../collection/source-view.ts';
import { formatDay, formatMany, formatMoment } from '../../http/pages/figures.ts';
import { renderPage } from './layout.ts';
import { renderScopeNames } from './scope-list.ts';
import { describeApplication, describeLastRead } from './state-words.ts';

type Given = {
  school: School;
  requests: Request[];
  applications: SharedApplication[];
  databases: ComponentDatabase[];
  runs: ListedRun[];
  token: string;
  notice: string | undefined;
};

export function renderHome({ school, requests, applications, databases, runs, token, notice }: Given): string {
  const sharing = applications.filter((one) => !isOver(one));
  const ended = applications.filter(isOver);
  const unconnected = school.connector === null && databases.length === 0 && sharing.length > 0;
  return renderPage({
    title: 'Applications',
    session: { school, token },
    section: 'home',
    notice,
    body: html`<h1>Who may read your data</h1>
      ${
        unconnected &&
        html`<div class="box step" id="connect-step">
          <p><strong>One step is left.</strong> You have approved an application, and it waits for your data.</p>
          <p><a class="button" href="/school/source">Connect your data</a></p>
        </div>`
      }
      ${renderRequests(school, requests)}
      <section aria-labelledby="applications">
        <h2 id="applications">Applications</h2>
        ${
          sharing.length === 0
            ? html`<p class="card quiet">Your school shares nothing with any application.</p>`
            : html`<ul class="cards">
                ${sharing.map((one) => renderApplicationCard(school, one))}
              </ul>`
        }
      </section>
      ${
        ended.length > 0 &&
        html`<section aria-labelledby="ended">
          <h2 id="ended">No longer shared with</h2>
          <ul class="cards">
            ${ended.map((one) => renderApplicationCard(school, one))}
          </ul>
        </section>`
      }
      ${renderOrigin(school, databases, runs[0])}`,
  });
}

function renderRequests({ timeZone }: School, requests: Request[]): Html | undefined {
  if (requests.length === 0) return undefined;
  return html`<section aria-labelledby="requests">
    <h2 id="requests">Waiting for your decision</h2>
    <ul class="cards">
      ${requests.map(
        ({ id, application, rp, reason, state, expiresAt }) =>
          html`<li class="card${state === 'Invited' && ' asked'}" id="request-${id}">
            <h3><bdi>${application}</bdi> <code>${rp}</code></h3>
            ${reason && html`<blockquote><p class="short" dir="auto">${reason}</p></blockquote>`}
            ${
              state === 'Invited'
                ? html`<p>Nothing is shared unless you approve. You can decide until ${formatMoment(expiresAt, timeZone)}.</p>
                    <p>
                      <a class="button" href="/school/requests/${id}">See the request and decide<span class="unseen">: ${application}</span></a>
                    </p>`
                : html`<p class="quiet">This request expired on ${formatDay(expiresAt, timeZone)}. Nothing was shared.</p>`
            }
          </li>`,
      )}
    </ul>
  </section>`;
}

function renderApplicationCard({ timeZone }: School, application: SharedApplication): Html {
  const { rp, name, state, scopes, since, lastRead } = application;
  const words = describeApplication(state);
  return html`<li class="card" id="application-${rp}">
    <h3><bdi>${name}</bdi> ${renderBadge(words)}</h3>
    <p>${words.text}</p>
    <dl class="facts">
      <div>
        <dt>Known here as</dt>
        <dd><code>${rp}</code></dd>
      </div>
      ${
        !isOver(application) &&
        html`<div>
          <dt>May read</dt>
          <dd>${renderScopeNames(scopes)}</dd>
        </div>`
      }
      <div>
        <dt>Last changed</dt>
        <dd>${formatDay(since, timeZone)}</dd>
      </div>
      <div>
        <dt>Last read</dt>
        <dd>${describeLastRead(lastRead)}</dd>
      </div>
    </dl>
    <p>
      <a href="/school/applications/${encodeURIComponent(rp)}"
        >See what it has read${!isOver(application) && ', or change it'}<span class="unseen">: ${name}</span></a
      >
    </p>
  </li>`;
}

function renderOrigin(school: School, databases: ComponentDatabase[], last: ListedRun | undefined): Html {
  return html`<section aria-labelledby="origin">
    <h2 id="origin">Where your data comes from</h2>
    <div class="card">
      <dl class="facts">
        <div>
          <dt>Source</dt>
          <dd>${describeConnector(school.connector)}</dd>
        </div>
        ${databases.map((database) => {
          const words = describeDatabase(database, school.timeZone, refusedSince(database, last));
          return html`<div class="wide">
            <dt>${titleOf(database)}</dt>
            <dd>${renderBadge(words)} ${words.text} ${database.rowCount > 0 && formatMany(database.rowCount, 'record')}${database.rowCount > 0 && '.'}</dd>
          </div>`;
        })}
      </dl>
      <p><a href="/school/source">${school.connector === null ? 'Connect your data' : 'See or change where it comes from'}</a></p>
    </div>
  </section>`;
}
