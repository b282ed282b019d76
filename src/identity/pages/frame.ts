// In charge of the frame of the pages on which people sign in.
import { html, type Html } from '../../http/html.ts';

export type Page = { title: string; body: Html; problem?: string | undefined; notice?: string | undefined };

export function renderFrame({ title, body, problem, notice }: Page): string {
  return html`<!doctype html>
<html lang="en-GB">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${problem !== undefined && 'Problem: '}${title} – Schoolbell</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/school/style.css">
</head>
<body>
<header class="top"><div class="frame"><p class="brand">Schoolbell</p></div></header>
<main id="main" class="frame">
${problem !== undefined && html`<div class="box problem" id="problem" role="alert"><p><strong>There is a problem.</strong> ${problem}</p></div>`}
${notice !== undefined && html`<div class="box notice" id="notice" role="status"><p>${notice}</p></div>`}
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`.text;
}

/** A form that only this browser's own page can have made. */
export function renderForm(path: string, token: string, body: Html): Html {
  return html`<form method="post" action="${path}"><input type="hidden" name="token" value="${token}">${body}</form>`;
}

export function renderInput(given: { name: string; label: string; type: 'text' | 'password'; autocomplete: string; value?: string; hint?: string }): Html {
  return html`<div class="field"><label for="${given.name}">${given.label}</label>${given.hint && html`<p class="hint" id="${given.name}-hint">${given.hint}</p>`}
<input type="${given.type}" id="${given.name}" name="${given.name}" value="${given.value}" autocomplete="${given.autocomplete}" autocapitalize="off" spellcheck="false" maxlength="300" required${given.hint && html` aria-describedby="${given.name}-hint"`}></div>`;
}
