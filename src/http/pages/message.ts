// In charge of the page that says one thing.
import { html } from '../html.ts';
import { renderFrame } from './frame.ts';

export type Link = { path: string; label: string };

/** link: where to go on; other: a second way. */
export function renderMessage({ title, text, link, other }: { title: string; text: string; link?: Link; other?: Link }): string {
  return renderFrame({
    title,
    body: html`<section class="card narrow">
<h1>${title}</h1>
<p>${text}</p>
${link && html`<p><a class="button" href="${link.path}">${link.label}</a></p>`}
${other && html`<p><a href="${other.path}">${other.label}</a></p>`}
</section>`,
  });
}
