// In charge of addresses in what is written down: without user, password and query, in which a secret may stand, also where they
// are mistyped so that they are none.

/** An address in a text: a word, or several where what follows the user has blanks and an @ behind them. */
const words = /[^\s@]{0,40}?\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s@:/[]+:(?!\d+(?:[/?#\s]|$))[^\s@]+\s[^@]{0,300}@\S*|\S+/gi;
const scheme = /\b[a-z][a-z0-9+.-]{0,30}:\/|\bhttps?:/i;
/** What opens and closes a quotation, a bracket or a sentence belongs to the text. */
const [opening, closing] = [`"'“‘([<`, `"'”’)]>.,:;!`];

export function plainAddresses(text: string): string {
  return text.replaceAll(words, (word) => {
    let [from, to] = [0, word.length];
    while (from < to && opening.includes(word.charAt(from))) from += 1;
    while (to > from && closing.includes(word.charAt(to - 1))) to -= 1;
    const core = word.slice(from, to);
    const at = core.search(scheme);
    const colon = core.indexOf(':');
    if (at < 0 && (colon < 0 || core.lastIndexOf('@') < colon)) return word;
    // What stands before an address is no part of it, unless it was meant to be its user.
    const begins = at < 0 || core.slice(0, at).includes('@') ? 0 : at;
    return `${word.slice(0, from + begins)}${plainAddress(core.slice(begins))}${word.slice(to)}`;
  });
}

/** Of one address and nothing else. Where it has a user, or may have been meant to, all that stands before the last @ is left out. */
export function plainAddress(address: string): string {
  if (!address.includes('@')) return withoutQuery(address);
  const url = URL.parse(address);
  // What would be called is said as it is: an @ behind the host does not make it look like another.
  if (url?.host) return `${url.protocol}//${url.host}${url.pathname.includes('@') ? '' : url.pathname}`;
  const [start = ''] = /^[a-z][a-z0-9+.-]*:\/\//i.exec(address) ?? [];
  return `${start}${withoutQuery(address.slice(address.lastIndexOf('@') + 1))}`;
}

const withoutQuery = (address: string) => address.replace(/[?#].*$/s, '');
