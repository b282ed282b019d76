// In charge of the page on which a school lets its export job send the data: the token, shown once, and the line to paste.
import type { UploadToken } from '../../access/upload-tokens.ts';
import { renderUploadLine } from '../../collection/upload-routes.ts';
import { html, type Html } from '../../http/html.ts';
import { renderForm } from '../../http/pages/form.ts';
import type { School } from '../school-view.ts';
import { formatMoment } from '../../http/pages/figures.ts';
import { renderPage } from './layout.ts';
import { describeActor } from './state-words.ts';

export const jobPath = '/school/source/job';

/** What is sent to a school whose data comes from elsewhere would be undone. */
export function takesPackages({ connector, watched }: Pick<School, 'connector' | 'watched'>): boolean {
  return connector === null || (connector === 'csv' && !watched);
}

/** On the page on where the data comes from. */
export function renderJobStep(school: School): Html | undefined {
  if (!takesPackages(school)) return undefined;
  return html`<section class="card" aria-labelledby="by-job">
    <h2 id="by-job">Have it sent every night</h2>
    <p>If your MIS can export a package by itself, a line in its job sends it here, and nobody has to upload it by hand.</p>
    <p><a href="${jobPath}">Set up a job that sends your data</a></p>
  </section>`;
}

type Given = {
  school: School;
  url: string;
  sendsMail: boolean;
  uploadToken: UploadToken | undefined;
  made?: string | undefined;
  notice: string | undefined;
  token: string;
};

/** made: a token that is shown now and never again. */
export function renderUploadByJob({ school, url, sendsMail, uploadToken, made, notice, token }: Given): string {
  return renderPage({
    title: 'Have your data sent',
    session: { school, token },
    section: 'source',
    notice,
    body: html`<p class="back"><a href="/school/source">Where your data comes from</a></p>
      <h1>Have your data sent every night</h1>
      ${
        takesPackages(school)
          ? html`<p>
              Many systems can export a OneRoster CSV package every night. The job that does it can send the package here with one more line. It is then treated
              as if you had uploaded it by hand.
            </p>`
          : html`<p class="box step">Your data comes from another source now. A package that is sent here is not taken.</p>`
      }
      ${made !== undefined && renderMade(url, made)} ${renderToken(school, uploadToken, token)} ${uploadToken && renderLines(school, url, sendsMail)}`,
  });
}

function renderMade(url: string, made: string): Html {
  return html`<section class="card held" aria-labelledby="made">
    <h2 id="made">Your new upload token</h2>
    <p><strong>It is shown this once.</strong> Keep it where your job finds it, and nowhere else: whoever has it can send data in the name of your school.</p>
    <p><code id="upload-token">${made}</code></p>
    <p>The whole line, for the job:</p>
    <p><code id="made-line">${renderUploadLine(url, made)}</code></p>
  </section>`;
}

function renderToken(school: School, uploadToken: UploadToken | undefined, token: string): Html {
  // Names the one that is replaced: sent again by a reload, it replaces nothing a second time.
  const named = (action: string) => html`<input type="hidden" name="action" value="${action}" />
    <input type="hidden" name="replaces" value="${uploadToken?.id ?? ''}" />`;
  const form = (action: string, body: Html) => renderForm({ path: jobPath, token, id: `${action}-token`, body: html`${named(action)}${body}` });
  if (!uploadToken)
    return html`<section class="card" aria-labelledby="token">
      <h2 id="token">The upload token</h2>
      <p>
        Your school has none, so nothing can be sent. A token lets a job send packages and learn what became of them. It opens nothing else: no data can be
        read with it.
      </p>
      ${form('make', html`<button type="submit">Make an upload token</button>`)}
    </section>`;
  const { madeAt, madeBy, lastUsedAt } = uploadToken;
  return html`<section class="card" aria-labelledby="token">
    <h2 id="token">The upload token</h2>
    <dl class="facts">
      <div>
        <dt>Made</dt>
        <dd id="token-made">${formatMoment(madeAt, school.timeZone)}. ${describeActor(madeBy)}.</dd>
      </div>
      <div>
        <dt>Last used</dt>
        <dd id="token-used">${lastUsedAt ? formatMoment(lastUsedAt, school.timeZone) : 'Not yet'}</dd>
      </div>
    </dl>
    <div class="halves">
      <details>
        <summary class="opens">Replace the token</summary>
        ${form('make', html`<p>The one that your job has now stops working at once.</p><button type="submit" class="danger">Yes, make a new one</button>`)}
      </details>
      <details>
        <summary class="opens">Remove the token</summary>
        ${form('remove', html`<p>From then on nothing can be sent. What came before stays.</p><button type="submit" class="danger">Yes, remove it</button>`)}
      </details>
    </div>
  </section>`;
}

/** In a shell, where the token stands in a variable. */
function renderLines({ email }: School, url: string, sendsMail: boolean): Html {
  const asked = `curl --fail-with-body -H "Authorization: Bearer $UPLOAD_TOKEN" ${url}/$IMPORT_ID`;
  return html`<section class="card" aria-labelledby="line">
    <h2 id="line">The line for your job</h2>
    <p>With the token in the variable <code>UPLOAD_TOKEN</code>, and the package in <code>roster.zip</code>:</p>
    <p><code id="upload-line">${renderUploadLine(url, '$UPLOAD_TOKEN')}</code></p>
    <p>The answer has an <code>ImportId</code>. With it the job can ask what became of the package:</p>
    <p><code id="report-line">${asked}</code></p>
    <p>
      If something is wrong with a package, nothing is changed: what it is stands in that answer and on the page
      <a href="/school/source">Where your data comes from</a>${sendsMail && html`, and a mail goes to <strong>${email}</strong>`}.
    </p>
  </section>`;
}
