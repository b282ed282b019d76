// In charge of a program to copy, which can be folded away.
import { html, type Html } from '../../http/html.ts';

/** label: unlike any other on the page. open: from the beginning. */
export function renderProgram(label: string, language: string, text: string, open = false): Html {
  return html`<details class="program"${open && html` open`}><summary>${language}</summary>
<pre class="json" tabindex="0" role="region" aria-label="${label}"><code>${text}</code></pre></details>
`;
}
