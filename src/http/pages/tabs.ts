// In charge of the ways between the pages of one thing: each is a page of its own, and the one that is open says so.
import { html, type Html } from '../html.ts';

export type Tab = { path: string; label: string };

export function renderTabs({ label, tabs, open }: { label: string; tabs: readonly Tab[]; open: string }): Html {
  return html`<nav class="tabs" aria-label="${label}"><ul>
${tabs.map((tab) => html`<li><a href="${tab.path}"${tab.path === open && html` aria-current="page"`}>${tab.label}</a></li>`)}
</ul></nav>`;
}
