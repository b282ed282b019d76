// In charge of what comes by itself, as developers read it: the four kinds of event, how to know that a call is ours, what to
// answer, and what happens otherwise.
import { outboundLimits } from '../../http/outbound.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderTable } from '../../http/pages/table.ts';
import { retryDelays } from '../../outbox/schedule.ts';
import type { Surface } from '../describe-surfaces.ts';
import { listOperations } from '../document.ts';
import { findExample } from '../schema-example.ts';
import { describeKind, listFields, listLimits, listValues } from '../schema-fields.ts';
import { receivers } from '../webhook-samples.ts';
import { renderExample, renderFields, renderKind, renderMeaning } from './fields.ts';
import { renderDocs } from './layout.ts';
import { webhooksPath } from './links.ts';
import { idOf, titleOf, type Placed } from './operation.ts';
import { renderProgram } from './program.ts';
import { renderInline, renderProse } from './prose.ts';

/** Each once, though several documents may tell of it. */
export function placeEvents(surfaces: readonly Surface[]): readonly Placed[] {
  const all = surfaces.flatMap(({ name, document }) => listOperations(document.webhooks ?? {}).map((one) => ({ ...one, document, surface: name })));
  return [...new Map(all.toReversed().map((one) => [idOf(one), one])).values()].toReversed();
}

const kinds: readonly (readonly [event: string, when: string, how: string])[] = [
  [
    'Authentication',
    'A school has approved the application, and once more when its data was collected for the first time. If you ask for it, also when the school pauses, ' +
      'narrows or ends that.',
    'POST, a form',
  ],
  [
    'Data availability',
    'What a data endpoint was asked for with callbackUrl is there, or something is wrong with it; after ten minutes at the latest.',
    'POST, JSON',
  ],
  ['Writeback outcome', 'Marks were written to the school’s system, or refused.', 'POST, JSON'],
  ['Database', 'Data changed in a database that you registered for.', 'GET of the address exactly as registered; POST with JSON, if so registered'],
];

const headers = [
  ['webhook-id', 'The id of the event, the same over retries and replays. An event that you have seen is answered with 2xx and left.'],
  ['webhook-timestamp', 'When this attempt was made, in seconds since 1970. Refuse what is more than five minutes away.'],
  ['webhook-signature', 'One or more signatures, separated by blanks; one that is right is enough. While the secret changes there are two.'],
  ['user-agent', 'Schoolbell/ and the version'],
  ['schoolbell-test', 'true: you asked for this call yourself, and nothing has happened'],
] as const;

export function renderWebhooks(surfaces: readonly Surface[]): string {
  const delays = ['at once', ...retryDelays.map((seconds) => `after ${describe(seconds)}`)].join(', ');
  return renderDocs({
    title: 'Webhooks',
    section: webhooksPath,
    body: html`<h1>Webhooks</h1>
<p>We call addresses that you give: when a school approves you, when data that you asked for is there, when marks were written, and when data changes.</p>
${renderTable({ id: 'kinds', caption: 'The four kinds of event', columns: ['Event', 'When', 'How'], rows: kinds, stacked: true })}
<h2 id="headers">What every call carries</h2>
${renderTable({
  id: 'call-headers',
  caption: html`<span class="unseen">Headers of every call</span>`,
  columns: ['Header', 'Meaning'],
  rows: headers.map(([name, meaning]) => [html`<code>${name}</code>`, meaning]),
  stacked: true,
})}
<h2 id="signature">Check that a call is ours</h2>
<p>Signatures are those of <a href="https://www.standardwebhooks.com/" rel="noreferrer noopener external">Standard Webhooks</a>, version <code>v1</code>: the
HMAC-SHA256 of <code>webhook-id.webhook-timestamp.body</code>, joined by dots, over the bytes as they arrived. The key is what follows
<code>whsec_</code> in your signing secret, decoded from base64. A <code>GET</code> has an empty body. Compare in constant time, refuse what is old, and
take each <code>webhook-id</code> once. The shell checks a call that was kept: its three headers are <code>WEBHOOK_ID</code>,
<code>WEBHOOK_TIMESTAMP</code> and <code>WEBHOOK_SIGNATURE</code>, its body is the file <code>body</code>, empty for a <code>GET</code>; the others are whole
receivers, with the signing secret in <code>SIGNING_SECRET</code>. The package <code>schoolbell-client</code> has handlers for Node, Express, Fastify and
fetch-style servers.</p>
${renderProgram('Shell: check a call', 'Shell', receivers.curl)}${renderProgram('TypeScript: a receiver', 'TypeScript', receivers.typescript)}
${renderProgram('Python: a receiver', 'Python', receivers.python)}
<h2 id="answers">What to answer</h2>
<ul>
<li><strong>2xx</strong> at once, and do the work afterwards: after ${outboundLimits.totalMs / 1000} seconds we hang up, and that is a failure.</li>
<li><strong>410</strong> when you want no more: it disables a registration or a callback URL. Of an address for one call it ends that call alone.</li>
<li><strong>3xx</strong> is a failure and is not followed. So is everything else; <code>Retry-After</code> is heeded, up to 24 hours.</li>
</ul>
<h2 id="retries">When it fails</h2>
<p>An event is delivered at least once, so that it may come twice. It is tried ${delays}, each a fifth sooner or later. A target that fails again and again is
left alone for a while, without losing its tries. Of database events only the newest matters: a change during a retry makes a new event, which takes its
place. Everything that was sent, and every answer, can be read and sent again under Deliveries.</p>
<h2 id="addresses">Which addresses</h2>
<p><code>http</code> or <code>https</code>, to a public address, to port 80, 443, or 1024 and above, without a user name. Put your own identifiers into the
query: it is sent back byte for byte.</p>
${placeEvents(surfaces).map(renderEvent)}`,
  });
}

function describe(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  return seconds < 3600 ? `${seconds / 60} min` : `${seconds / 3600} h`;
}

function renderEvent(placed: Placed): Html {
  const { operation, verb, document, surface } = placed;
  const id = idOf(placed);
  const { parameters = [], requestBody, responses } = operation;
  const body = Object.entries(requestBody?.content ?? {}).map(([type, media]): HtmlValue => {
    const example = findExample(document, media);
    const label = `Body of ${id}, ${type}`;
    const { schema } = media;
    return [
      schema && listFields(schema).length > 0
        ? renderFields(surface, { id: `${id}-${type}`.replaceAll(/[^A-Za-z0-9]+/g, '-'), caption: label, schema })
        : html`<p><code>${type}</code> ${schema && renderKind(surface, describeKind(schema))}</p>`,
      example !== undefined && renderExample(`Example: ${label}`, example),
    ];
  });
  return html`<section class="card" id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${titleOf(placed)}</h2>
<p class="address"><strong>${verb.toUpperCase()}</strong> to your address <a href="#${id}" aria-label="Link to ${id}">#</a></p>
${renderProse(operation.description)}
${parameters.length > 0 && renderTable({
  id: `${id}-parameters`,
  caption: `Headers and parameters of ${id}`,
  columns: ['Name', 'In', 'Meaning'],
  rows: parameters.map(({ name, in: place, description, schema = {} }) => [
    html`<code>${name}</code>`,
    place,
    renderMeaning({ description, values: listValues(schema), limits: listLimits(schema), deprecated: false }),
  ]),
  stacked: true,
})}
${body}
${renderTable({
  id: `${id}-answers`,
  caption: `What your answer to ${id} means`,
  columns: ['Status', 'Meaning'],
  rows: Object.entries(responses).map(([status, answer]) => [html`<strong>${status}</strong>`, renderInline(answer.description)]),
  stacked: true,
})}
</section>
`;
}
