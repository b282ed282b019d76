// In charge of what is known about one thing, as names and values below one another.
import { html, type Html, type HtmlValue } from '../html.ts';

export function renderFacts(facts: readonly (readonly [name: string, value: HtmlValue] | false | undefined)[]): Html {
  return html`<dl class="facts">
${facts.map((fact) => fact && html`<div><dt>${fact[0]}</dt><dd>${fact[1]}</dd></div>\n`)}
</dl>`;
}
