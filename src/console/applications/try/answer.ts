// In charge of how an answer is shown, and the request as a program in three languages. A body is text, whatever it says it is.
import { isUtf8 } from 'node:buffer';
import { html, type Html } from '../../../http/html.ts';
import { renderBadge, type Badge } from '../../../http/pages/badge.ts';
import { renderFacts } from '../../../http/pages/facts.ts';
import { formatCount } from '../../../http/pages/figures.ts';
import { layOutJson } from '../../../http/pages/lay-out-json.ts';
import { showSteering } from '../../../http/printable.ts';
import type { Samples } from '../../../reference/samples.ts';
import { shownBytes, type Answer } from './send.ts';

export function renderAnswer(answer: Answer): Html {
  const { status, headers, firstByteMs, totalMs } = answer;
  const ms = (value: number) => `${formatCount(Math.round(value))} ms`;
  const lines = headers.map(([name, value]) => showSteering(`${name}: ${value}`).replaceAll('\n', '\\n'));
  return html`<section class="card" id="answer" role="status"><h3 class="titled">Answer ${renderBadge({ badge: String(status), tone: toneOf(status) })}</h3>
${renderFacts([
  ['Took', `${ms(totalMs)} in all, ${ms(firstByteMs)} to the first byte`],
  ['Body', describeSize(answer)],
])}
<h4>Headers</h4>
<pre class="as-sent" tabindex="0" aria-label="Headers">${lines.join('\n')}</pre>
<h4>Body</h4>
${renderBody(answer)}
</section>`;
}

function renderBody(answer: Answer): Html {
  if (answer.body.length === 0) return html`<p class="quiet">None.</p>`;
  return html`<pre class="as-sent" id="answered" tabindex="0" aria-label="Body">${showSteering(readable(answer))}</pre>`;
}

function toneOf(status: number): Badge['tone'] {
  if (status < 300) return 'good';
  return status < 500 ? 'wait' : 'bad';
}

function describeSize({ whole, bytes, body }: Answer): string {
  if (whole) return `${formatCount(body.length)} bytes`;
  return `the first ${formatCount(Math.min(shownBytes, body.length))} bytes of ${bytes === undefined ? 'more, which were not read' : formatCount(bytes)}`;
}

function readable({ body, whole }: Answer): string {
  // What was cut off may end within a character.
  const text = [0, 1, 2, 3].map((less) => body.subarray(0, body.length - (whole ? 0 : less))).find((bytes) => isUtf8(bytes));
  if (text === undefined || text.includes(0))
    return `(${formatCount(body.length)} bytes that are no text, beginning with ${body.subarray(0, 16).toString('hex')})`;
  try {
    return layOutJson(JSON.parse(text.toString('utf8')));
  } catch {
    return text.toString('utf8');
  }
}

const languages = { curl: 'curl', typescript: 'TypeScript', python: 'Python' } as const;

/** Secrets are variables in them, which are set where the program runs. */
export function renderPrograms(samples: Samples): Html {
  return html`<section class="card" id="programs"><h3>The same as a program</h3>
<p class="quiet">Secrets are variables: set them where the program runs. What was sent here had a token of its own, which is not shown.</p>
${Object.entries(languages).map(([language, name]) => html`<details${language === 'curl' && html` open`}><summary>${name}</summary>
<pre class="as-sent" id="${language}" tabindex="0" aria-label="${name}">${samples[language as keyof Samples]}</pre></details>
`)}</section>`;
}
