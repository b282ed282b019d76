// In charge of a program to copy, folded until it is wanted.
import { html, type Html } from '../../http/html.ts';

/** label: unlike any other on the page. */
export function renderProgram(label: string, language: string, text: string): Html {
  return html`<details class="program"><summary>${language}</summary>
<pre class="json" tabindex="0" role="region" aria-label="${label}"><code>${text}</code></pre></details>
`;
}
