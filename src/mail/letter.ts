// In charge of the form of a letter: the same words as text and as HTML. Names typed by others are shown as text.
import { cutText } from '../http/cut-text.ts';
import { html, type Html } from '../http/html.ts';

export type Letter = { subject: string; text: string; html: string };
export type Paragraph = string | { link: string; label: string };

export function writeLetter(subject: string, paragraphs: readonly Paragraph[]): Letter {
  const text = paragraphs.map((one) => (typeof one === 'string' ? one : `${one.label}:\n${one.link}`)).join('\n\n');
  const body: Html[] = paragraphs.map((one) =>
    typeof one === 'string' ? html`<p>${one}</p>` : html`<p><a href="${one.link}">${one.label}</a><br /><small>${one.link}</small></p>`,
  );
  return {
    subject: oneLine(subject),
    text: `${text}\n`,
    html: html`<!doctype html>
      <html lang="en">
        <meta charset="utf-8" /><title>${subject}</title>
        <body style="font-family: sans-serif; max-width: 36em">
          ${body}
        </body>
      </html>`.text,
  };
}

/** A name must not begin another header. */
function oneLine(text: string): string {
  return cutText(text.replace(/\p{Cc}+/gu, ' '), 200);
}
