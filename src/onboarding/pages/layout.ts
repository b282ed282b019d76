// In charge of what a school's pages have in common: its name and number, the way around, and whose decision it is.
import { html, type Html } from '../../http/html.ts';
import { renderForm } from '../../http/pages/form.ts';
import { renderFrame, type PageFrame } from '../../http/pages/frame.ts';
import type { School } from '../school-view.ts';

type Section = 'home' | 'source';

export type Page = Pick<PageFrame, 'title' | 'body' | 'notice' | 'problem'> & {
  /** Without a session there is no school to name, and nothing to sign out of. */
  session?: { school: School; token: string };
  section?: Section;
};

const sections: readonly { name: Section; path: string; label: string }[] = [
  { name: 'home', path: '/school/home', label: 'Applications' },
  { name: 'source', path: '/school/source', label: 'Your data' },
];

export function renderPage({ session, section, ...page }: Page): string {
  return renderFrame({
    ...page,
    owner: session?.school.name,
    top: session && [renderSchool(session.school), renderNavigation(session.token, section)],
    bottom: html`<p>Your school decides who reads its data, and can change its mind at any time.</p>
${session && html`<p>The registered address of your school is <strong>${session.school.email}</strong>. If that is wrong, tell the operator of this
service.</p>`}`,
  });
}

function renderSchool({ name, estab }: School): Html {
  return html`<p class="school"><strong id="school-name">${name}</strong> <span id="school-number">School number ${estab}</span></p>`;
}

function renderNavigation(token: string, section: Section | undefined): Html {
  return html`<nav class="around" aria-label="Pages of your school">
<ul>
${sections.map(({ name, path, label }) => html`<li><a href="${path}"${name === section && html` aria-current="page"`}>${label}</a></li>`)}
</ul>
${renderForm({ path: '/school/sign-out', token, id: 'sign-out', body: html`<button type="submit" class="plain">Sign out</button>` })}
</nav>`;
}
