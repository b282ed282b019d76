// In charge of the page that says one thing.
import { html } from '../html.ts';
import { renderFrame } from './frame.ts';

export type Link = { path: string; label: string };

export function renderMessage({ title, text, link }: { title: string; text: string; link?: Link }): string {
  return renderFrame({
    title,
    body: html`<section class="card narrow">
<h1>${title}</h1>
<p>${text}</p>
${link && html`<p><a class="button" href="${link.path}">${link.label}</a></p>`}
</section>`,
  });
}
