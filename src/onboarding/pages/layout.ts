// In charge of the frame of every page: head, the school's name and number, the way around, and what was just done.
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import type { School } from '../school-view.ts';

type Section = 'home' | 'source';

export type Page = {
  title: string;
  body: Html;
  /** Without a session there is no school to name, and nothing to sign out of. */
  session?: { school: School; token: string };
  section?: Section;
  notice?: string | undefined;
  problem?: string | undefined;
  /** What a page that follows something under way says about asking again. */
  refresh?: string | undefined;
};

const sections: readonly { name: Section; path: string; label: string }[] = [
  { name: 'home', path: '/school/home', label: 'Applications' },
  { name: 'source', path: '/school/source', label: 'Your data' },
];

export function renderPage({ title, body, session, section, notice, problem, refresh }: Page): string {
  return html`<!doctype html>
<html lang="en-GB">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
${refresh !== undefined && html`<meta http-equiv="refresh" content="${refresh}">`}
<title>${problem !== undefined && 'Problem: '}${title}${session && ` – ${session.school.name}`} – Schoolbell</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/school/style.css">
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
<div class="frame">
<p class="brand">Schoolbell</p>
${session && renderSchool(session.school)}
${session && renderNavigation(session.token, section)}
</div>
</header>
<main id="main" class="frame">
${problem !== undefined && html`<div class="box problem" id="problem" role="alert"><p><strong>There is a problem.</strong> ${problem}</p></div>`}
${notice !== undefined && html`<div class="box notice" id="notice" role="status"><p>${notice}</p></div>`}
${body}
</main>
<footer class="bottom"><div class="frame">
<p>Your school decides who reads its data, and can change its mind at any time.</p>
${session && html`<p>Links and receipts go to <strong>${session.school.email}</strong>. If that is wrong, tell the operator of this service.</p>`}
</div></footer>
</body>
</html>
`.text;
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

/** Every form of a session carries its token. */
export function renderForm({ path, token, id, body }: { path: string; token: string; id: string; body: HtmlValue }): Html {
  return html`<form method="post" action="${path}" id="${id}"><input type="hidden" name="token" value="${token}">${body}</form>`;
}
