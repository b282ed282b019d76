// In charge of the links in the text of a mail. One that leads to our own pages may open a school, a login or an account for
// whoever has it: what makes it a secret can be left out.

/** link: of our own service, as it stands in the mail. */
export type Piece = Readonly<{ text: string; link?: string }>;

const anyUrl = /\bhttps?:\/\/[^\s<>"']+/gi;
/** What stands behind a link belongs to the sentence. */
const sentenceEnd = /[.,;:!?)\]”’]+$/;
/** Words of our own addresses; no secret looks like one. */
const plainPart = /^[a-z][a-z-]{0,19}$/;
/** Random letters, wherever they stand. */
const looksSecret = /[\w-]{24,}/g;
const leftOut = '…';

export function splitLinks(text: string, publicUrl: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const found of text.matchAll(anyUrl)) {
    const url = found[0].replace(sentenceEnd, '');
    if (!isOurs(url, publicUrl)) continue;
    pieces.push({ text: text.slice(at, found.index) }, { text: url, link: url });
    at = found.index + url.length;
  }
  return [...pieces, { text: text.slice(at) }].filter((piece) => piece.text !== '');
}

/** Nothing that opens anything is left: of every address only its plain words, and nothing that looks like a secret anywhere. */
export function withoutSecrets(text: string): string {
  return text
    .replaceAll(anyUrl, (url) => {
      const [whole = '', end = ''] = [url.replace(sentenceEnd, ''), sentenceEnd.exec(url)?.[0]];
      return `${cutUrl(whole)}${end}`;
    })
    .replaceAll(looksSecret, leftOut);
}

function cutUrl(text: string): string {
  if (!URL.canParse(text)) return leftOut;
  const { protocol, host, pathname, search, hash } = new URL(text);
  const parts = pathname.split('/').filter((part) => part !== '');
  const strange = parts.findIndex((part) => !plainPart.test(part));
  const kept = strange === -1 ? parts : parts.slice(0, strange);
  const more = strange !== -1 || search !== '' || hash !== '';
  return `${protocol}//${host}${kept.map((part) => `/${part}`).join('')}${more ? `/${leftOut}` : ''}`;
}

function isOurs(url: string, publicUrl: string): boolean {
  if (!URL.canParse(url)) return false;
  const [given, ours] = [new URL(url), new URL(publicUrl)];
  const root = ours.pathname.replace(/\/+$/, '');
  return given.origin === ours.origin && given.username === '' && (root === '' || given.pathname === root || given.pathname.startsWith(`${root}/`));
}
