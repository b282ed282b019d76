// In charge of the change policy as developers read it, and of what is deprecated, out of the table that announces it.
import { changesPath, type Deprecation } from '../../http/deprecations.ts';
import { html } from '../../http/html.ts';
import { renderTable } from '../../http/pages/table.ts';
import { renderDocs } from './layout.ts';

export function renderChanges(deprecations: readonly Deprecation[]): string {
  return renderDocs({
    title: 'Changes',
    section: changesPath,
    body: html`<h1>What may change, and when</h1>
<section class="card" aria-labelledby="now-title"><h2 id="now-title">Deprecated now</h2>
${deprecations.length === 0 ? html`<p id="nothing-deprecated">Nothing. Every address that is described here stays.</p>` : renderDeprecated(deprecations)}
</section>
<h2>How long a version lives</h2>
<p>The version is a part of the address: <code>v1p1</code> is OneRoster 1.1, <code>v1p2</code> OneRoster 1.2, <code>v1</code> everything else under
<code>/api</code>; what has no number in its address is held to the same rules. A version answers for at least 24 months after the one that replaces it is
released, and for at least 12 months after it is called deprecated. It ends in August, between two school years, never within one.</p>
<h2>How an end is announced</h2>
<ul>
<li>Every answer of what is deprecated carries <code>Deprecation</code> (RFC 9745), the moment since when, as in <code>Deprecation: @1788220800</code>;
<code>Sunset</code> (RFC 8594), the moment from which on it may no longer answer; and <code>Link: &lt;…&gt;; rel="deprecation"</code>, which leads here.
Log them: a client that does learns of every end a year ahead.</li>
<li>It stands in the table above, with what to use in its place, and is <code>deprecated</code> in the OpenAPI documents.</li>
<li>Whoever runs this service sees which applications still call it, and asks them.</li>
</ul>
<h2>What may change without notice</h2>
<p>Write clients that bear with all of this:</p>
<ul>
<li>new operations, new optional parameters, new headers, new kinds of event for those who ask for them</li>
<li>new fields in answers, in callbacks and in forms, and new values where a field’s description does not list all of them</li>
<li>the words of messages: go by statuses and codes, never by the text of <code>Message</code>, <code>ExceptionMessage</code> or
<code>error_description</code></li>
<li>the order of keys in an object, of headers, and of rows where no order is promised; blanks in JSON</li>
<li>how long ids and tokens are (ids up to 255 characters) and what tokens hold: keep them as they are, and do not take them apart</li>
<li>how many calls a minute are allowed, as <code>RateLimit-*</code> says it, how fast answers come, and from which addresses we call</li>
<li>an error that becomes a success, and a more exact message for an error that stays one</li>
</ul>
<h2>What never changes within a version</h2>
<ul>
<li>identifiers: <code>sourcedId</code>, <code>Id</code>, <code>PresenceId</code>, <code>estab</code>, <code>rp</code> and <code>webhook-id</code>
stay what they are for the same thing, and are never given to another</li>
<li>the meaning, the type and the format of a field; no field, parameter, value or operation is taken away or renamed</li>
<li>what is optional: no parameter or field of a body becomes required, and no default becomes another</li>
<li>the status of an answer for the same request in the same state of things, unless an error becomes a success</li>
<li>which scope opens what: nothing that a school has granted is widened without the school</li>
<li>how calls are signed, and that an event arrives at least once</li>
</ul>
<h2>Exceptions</h2>
<p>What endangers people’s data, or what the law asks for, may have to change at once. Then it is said here and in the changelog why, on the same day. What
contradicts the OneRoster standard by mistake is put right as a fault, and listed in the changelog.</p>`,
  });
}

function renderDeprecated(deprecations: readonly Deprecation[]) {
  return renderTable({
    id: 'deprecated',
    caption: 'Deprecated, and until when it answers',
    columns: ['Address', 'Since', 'Until', 'In its place'],
    rows: deprecations.map(({ method, path, since, sunset, instead }) => [
      html`<code>${method !== undefined && `${method} `}${path}</code>`,
      since,
      sunset ?? 'not decided',
      instead,
    ]),
    stacked: true,
  });
}
