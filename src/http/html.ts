// In charge of HTML: a template tag that escapes everything put into it, and the headers that go with every page.

export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlValue = Html | string | number | null | undefined | false | readonly HtmlValue[];

/** What is put in is shown as text, unless it was made by this tag itself. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(parts.map((part, at) => (at === 0 ? part : `${render(values[at - 1])}${part}`)).join(''));
}

function render(value: HtmlValue): string {
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(render).join('');
  if (value === null || value === undefined || value === false) return '';
  return String(value).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const policy = "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/** No script, nothing from elsewhere, in no frame, and no trace of the address in what is asked next. */
export const pageHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
};

/** Of a page with a script of ours, which asks for nothing but our pages. */
export const scriptedPageHeaders: Readonly<Record<string, string>> = {
  ...pageHeaders,
  'content-security-policy': `${policy}; script-src 'self'; connect-src 'self'`,
};
