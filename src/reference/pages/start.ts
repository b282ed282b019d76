// In charge of the first page of the reference: which surfaces there are, how each is opened, and where to go on.
import { changesPath } from '../../http/deprecations.ts';
import { html, type HtmlValue } from '../../http/html.ts';
import { renderTable } from '../../http/pages/table.ts';
import { credentials, variables } from '../credentials.ts';
import type { Surface } from '../describe-surfaces.ts';
import { takeExamples } from '../sample-request.ts';
import { renderSamples } from '../samples.ts';
import { pathOf, surfaces } from '../surfaces.ts';
import { renderDocs } from './layout.ts';
import { docsPath, operationPath, searchPath, surfacePath, webhooksPath } from './links.ts';
import { idOf } from './operation.ts';
import { renderProgram } from './program.ts';
import { placeOperations } from './surface.ts';

export function renderStart(publicUrl: string, described: readonly Surface[]): string {
  return renderDocs({
    title: 'Reference',
    section: docsPath,
    body: html`<h1>Reference</h1>
<p>An application reads what a school has allowed it to read. Everything is at <code>${publicUrl}</code>, over HTTP and JSON. It is described here out of the
schemas that run, and each description can be had as OpenAPI 3.1.</p>
<ol>
<li>Whoever runs this service adds your application and gives you its credentials.</li>
<li>A school approves it. The <a href="${webhooksPath}">authentication event</a> that is sent then brings the school secret.</li>
<li>Exchange credentials for a token, as in the table below, and send the token with every request until it is refused.</li>
</ol>
${renderFirst(described)}
${renderTable({
  id: 'surfaces',
  caption: 'The parts of the API',
  columns: ['Part', 'What it is for', 'OpenAPI'],
  rows: surfaces.map(({ name, label, summary }) => [
    html`<a href="${surfacePath(name)}">${label}</a>`,
    summary,
    html`<a href="${pathOf(name)}">${pathOf(name)}</a>`,
  ]),
  stacked: true,
})}
<p>What comes by itself stands under <a href="${webhooksPath}">webhooks</a>, with how to check that it is ours; what may change, and when, under
<a href="${changesPath}">changes</a>. <a href="${searchPath}">Search</a> finds operations, parameters, fields and events.</p>
<h2>Credentials</h2>
${renderTable({
  id: 'credentials',
  caption: 'How to come by each, and what it opens',
  columns: ['Credential', 'Obtained', 'Presented', 'Opens'],
  rows: Object.entries(credentials).map(([name, { name: words, obtained, presented, opens }]) => [
    html`<strong id="credential-${name}">${words}</strong>`,
    obtained,
    html`<code>${presented}</code>`,
    opens,
  ]),
  stacked: true,
})}
<p>A token of one kind is refused everywhere else. What a school pauses, revokes or narrows takes effect on the next call.</p>
<h2>Samples</h2>
<p>Every operation has a sample for <code>curl</code>, for TypeScript with plain <code>fetch</code> (Node 20 or newer) and for Python with its standard
library. Each runs as it stands once these variables are set; each has been run.</p>
${renderTable({
  id: 'variables',
  caption: 'Variables of the samples',
  columns: ['Variable', 'Holds'],
  rows: Object.entries(variables).map(([name, words]) => [html`<code>${name}</code>`, words]),
  stacked: true,
})}`,
  });
}

const first = 'getAllStudents_B';

/** For whoever wants to see an answer before reading on. */
function renderFirst(described: readonly Surface[]): HtmlValue {
  const placed = described.flatMap(placeOperations).find((one) => idOf(one) === first);
  if (!placed) return undefined;
  const { curl, typescript, python } = renderSamples(placed, takeExamples(placed));
  return html`<section class="card" aria-labelledby="first-title"><h2 id="first-title">A first call</h2>
<p>This <a href="${operationPath(placed.surface, placed.operation.tags?.[0] ?? '', first)}">lists students</a> of a school. Set <code>RP</code>,
<code>ESTAB</code> and <code>SCHOOL_SECRET</code> (<a href="#variables">what they are</a>), and paste it:</p>
${renderProgram('curl: a first call', 'curl', curl, true)}
${renderProgram('TypeScript: a first call', 'TypeScript', typescript)}
${renderProgram('Python: a first call', 'Python', python)}
<p>Without a program: in the <a href="/console">console</a> your application’s pages send any operation under Try it, and an inbox there shows what we
would call you with. For TypeScript and JavaScript there is a package, <code>schoolbell-client</code>, which does tokens, pages, retries, copies and signatures
for you.</p>
</section>`;
}
