// In charge of the page that says one thing.
import { html } from '../../http/html.ts';
import { renderPage } from './layout.ts';

export function renderMessage({ title, text, link }: { title: string; text: string; link?: { path: string; label: string } }): string {
  return renderPage({
    title,
    body: html`<section class="card narrow">
<h1>${title}</h1>
<p>${text}</p>
${link && html`<p><a class="button" href="${link.path}">${link.label}</a></p>`}
</section>`,
  });
}
