// In charge of the frame of every page: head, the product's name, what was just done and what went wrong.
import { html, type Html, type HtmlValue } from '../html.ts';
import { stylePath } from './style.ts';

export type PageFrame = {
  title: string;
  /** Whose page it is, where that is known: a school. */
  owner?: string | undefined;
  body: Html;
  notice?: string | undefined;
  problem?: string | undefined;
  /** Below the product's name, and at the foot. */
  top?: HtmlValue;
  bottom?: HtmlValue;
  /** Tables and charts side by side, where the screen has room. */
  wide?: boolean;
  /** Paths of scripts of ours. */
  scripts?: readonly string[];
};

export function renderFrame({ title, owner, body, notice, problem, top, bottom, wide = false, scripts = [] }: PageFrame): string {
  return html`<!doctype html>
<html lang="en-GB">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${problem !== undefined && 'Problem: '}${title}${owner !== undefined && ` – ${owner}`} – Schoolbell</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${stylePath}">
${scripts.map((path) => html`<script src="${path}" defer></script>`)}
</head>
<body${wide && html` class="wide"`}>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
<div class="frame">
<p class="brand">Schoolbell</p>
${top}
</div>
</header>
<main id="main" class="frame">
${problem !== undefined && html`<div class="box problem" id="problem" role="alert"><p><strong>There is a problem.</strong> ${problem}</p></div>`}
${notice !== undefined && html`<div class="box notice" id="notice" role="status"><p>${notice}</p></div>`}
${body}
</main>
${bottom !== undefined && html`<footer class="bottom"><div class="frame">${bottom}</div></footer>`}
</body>
</html>
`.text;
}
