// In charge of the start page: what this is, that it runs, the demo's first requests to copy, the ways in, and what to
// read next, which is served beside it. A program that asks gets the same as JSON.
import type { FastifyInstance } from 'fastify';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from './config.ts';
import { renderDemoEntry } from './console/accounts/demo-entry.ts';
import { renderDemoRequests, type DemoCredentials } from './demo.ts';
import { demoEstablishment } from './collection/connectors/demo/school.ts';
import { asksForPage } from './http/accepts-page.ts';
import { giveFormToken } from './http/form-token.ts';
import { readFields } from './http/forms.ts';
import { html, type Html } from './http/html.ts';
import { sendPage } from './http/page-reply.ts';
import { renderFrame } from './http/pages/frame.ts';
import type { Query } from './http/query.ts';
import { isAdminKept } from './operators/admin.ts';
import { entryField, hasDemoEntry } from './operators/demo-entry.ts';
import { docsPath, guidePath, guidesPath } from './reference/pages/links.ts';
import { pathOf, surfaces } from './reference/surfaces.ts';
import { version } from './version.ts';

const hidden = { schema: { hide: true } } as const;
const readmePath = '/README.md';
const aboutWords =
  'Schoolbell stands between schools and the applications that need their data. It takes each school’s roster and attendance from the ' +
  'school’s information system, keeps it current, and lets an application read what the school has allowed.';
type StartParts = { config: Config; demo: DemoCredentials | undefined; demoEntry: string | undefined };

export function startRoutes(app: FastifyInstance, { config, demo, demoEntry }: StartParts): void {
  app.get('/', hidden, async (request, reply) => {
    reply.header('vary', 'accept');
    if (asksForPage(request.headers.accept)) {
      const given = readFields(request.query as Query).one(entryField);
      const secrets = hasDemoEntry(config, request, demoEntry, given);
      const entry = secrets && isAdminKept(config) ? renderDemoEntry(giveFormToken(request, reply, config.publicUrl), given) : undefined;
      return sendPage(reply, renderStart(config, demo, { secrets, hasLink: demoEntry !== undefined, entry }));
    }
    return reply.header('cache-control', 'no-cache').send(about(config));
  });
  app.get(readmePath, hidden, async (_request, reply) => {
    const readme = await readFile(join(import.meta.dirname, '..', readmePath), 'utf8');
    return reply.headers(reading).type('text/plain; charset=utf-8').send(readme);
  });
}

/** The same for everybody until the next version. */
const reading = { 'cache-control': 'public, max-age=3600', 'x-content-type-options': 'nosniff' } as const;

function about({ publicUrl }: Config): Record<string, unknown> {
  return {
    name: 'Schoolbell',
    version,
    description: aboutWords,
    api: surfaces.map(({ name }) => `${publicUrl}${pathOf(name)}`),
    reference: `${publicUrl}${docsPath}`,
    guides: `${publicUrl}${guidesPath}`,
    readme: `${publicUrl}${readmePath}`,
    schools: `${publicUrl}/school`,
    signIn: `${publicUrl}/login`,
    console: `${publicUrl}/console`,
    health: `${publicUrl}/readyz`,
  };
}

/**
 * `secrets`: this request may see the credentials of the demo. `hasLink`: at startup the service printed a link that shows them.
 * `entry`: the button for the one-click sign-in to the console, if this request may use it.
 */
type StartView = { secrets: boolean; hasLink: boolean; entry: Html | undefined };

function renderStart(config: Config, demo: DemoCredentials | undefined, { secrets, hasLink, entry }: StartView): string {
  const parts = [demo && renderTry(demo, secrets ? renderRequests(config.publicUrl, demo) : renderElsewhere(hasLink)), renderWaysIn(entry), next];
  return renderFrame({
    title: 'Schoolbell is running',
    body: html`<h1>Schoolbell is running</h1>
<p>${aboutWords}</p>
<p class="quiet">Version <span id="version">${version}</span> at <a href="${config.publicUrl}/">${config.publicUrl}</a></p>
${parts}`,
    bottom: html`<p>A school decides who reads its data, and can change its mind at any time.</p>`,
  });
}

function renderTry(demo: DemoCredentials, requests: Html): Html {
  return html`<section class="card" id="try" aria-labelledby="try-title">
<h2 id="try-title">Try it</h2>
<p>The demo school ${demoEstablishment.name} (${demo.estab}) is loaded: made up, and changing by itself.</p>
${requests}
</section>`;
}

function renderRequests(publicUrl: string, demo: DemoCredentials): Html {
  const { variantA, variantB, oneRoster12 } = renderDemoRequests(publicUrl, demo);
  return html`<p>Paste one of these lines into a shell. It exchanges a secret for a token and reads a list with it.</p>
<h3>Variant A: two users</h3>
<pre class="command" id="variant-a"><code>${variantA}</code></pre>
<h3>Variant B: two students who are on roll</h3>
<pre class="command" id="variant-b"><code>${variantB}</code></pre>
<h3>OneRoster 1.2: two teachers</h3>
<pre class="command" id="oneroster-1p2"><code>${oneRoster12}</code></pre>
<p class="quiet">A click selects the whole line. All credentials of the demo are in <code>demo.json</code> in the data directory.</p>`;
}

const renderElsewhere = (hasLink: boolean) => html`<p id="elsewhere">Schoolbell prints the demo’s credentials, and three requests to begin with, when it
starts. The credentials are also in <code>demo.json</code> in its data directory (<code>DATA_DIR</code>). ${hasLink && linkHint}</p>`;
const linkHint = html`To see them on this page, open the link that Schoolbell printed when it started, on the machine that it runs on.`;

const renderWaysIn = (entry: Html | undefined) => html`<section class="card" id="sign-in" aria-labelledby="sign-in-title">
<h2 id="sign-in-title">Sign in</h2>
<div class="halves thirds">
<div>
<h3>Schools</h3>
<p>Decide which applications may read your data, and see what each of them has read.</p>
<p><a class="button" href="/school">Pages of your school</a></p>
</div>
<div>
<h3>People</h3>
<p>Staff and pupils with a login sign in here, and change their password.</p>
<p><a class="button" href="/login">Sign in</a></p>
</div>
<div>
<h3>Operators</h3>
<p>Those who run this service see and steer it in the <a href="/console">console</a>.</p>
${entry ?? html`<p><a class="button" href="/console">Console</a></p>`}
</div>
</div>
</section>`;

const described = surfaces.map(({ name }, index) => html`${index > 0 && ', '}<a href="${pathOf(name)}">${name}</a>`);

const next = html`<section class="card" id="next" aria-labelledby="next-title">
<h2 id="next-title">Read on</h2>
<ul>
<li><a href="${guidesPath}">Guides</a>: a page for each thing to do, such as <a href="${guidePath('read-a-roster')}">reading a roster</a>,
<a href="${guidePath('load-csv')}">a school of your own</a> or <a href="${guidePath('run-in-production')}">running it in production</a></li>
<li><a href="${guidePath('settings')}">Settings</a>, and <a href="${guidePath('what-is-kept')}">what is kept, and for how long</a></li>
<li><a href="${readmePath}">README</a>: what it is, and the first steps</li>
<li><a href="${docsPath}">Reference</a> of the API, with samples in three languages; as OpenAPI 3.1, for generators: ${described}</li>
</ul>
</section>`;
