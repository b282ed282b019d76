// In charge of telling whom of many people a text names, in one walk over it: by an id, an address or the full name. What
// is short, or a number, stands in every text; it counts only where a person is meant to stand.
import type { Leaver } from './leaver.ts';

/** sourcedIds. clear: by a word that says it wherever it stands. short: by one that says it where it stood. */
export type Sighting = Readonly<{ clear: Set<string>; short: Set<string> }>;

/** Each adds to what was seen. */
export type NameFinder = Readonly<{
  inText(text: string, seen: Sighting): void;
  /** Of an address that came with one request; short words as whole pieces of its path and query. */
  inUrl(url: string, seen: Sighting): void;
  /** Short words as values of fields that hold a person. */
  inJson(value: unknown, seen: Sighting): void;
  inBytes(bytes: Uint8Array, seen: Sighting): void;
  /** Where the text is a given or a family name, an address, and nothing else. */
  asName(text: string, seen: Sighting): void;
}>;

const distinctiveLength = 6;
const mostFields = 1_000;
const inToken = '[\\p{L}\\p{N}\\p{M}_-]';
const tokens = new RegExp(`${inToken}+`, 'gu');
/** The same where there are no other letters than these, which is found out faster than it is to use the one above. */
const plainTokens = /[\w-]+/g;
const tokensOf = (text: string) => (/[^\0-\x7f]/.test(text) ? tokens : plainTokens);
const endsInToken = new RegExp(`${inToken}$`, 'u');
const beginsInToken = new RegExp(`^${inToken}`, 'u');

/** In bodies of ours, in what receivers may make of them, and in mails; without case and signs. */
const personFields: ReadonlySet<string> = new Set([
  'studentid', 'studentids', 'studentsourcedid', 'studentsourcedids', 'pupilid', 'sourcedid', 'sourcedids', 'usersourcedid', 'agentsourcedids', 'id', 'ids',
  'presenceid', 'personid', 'userid', 'userids', 'staffid', 'contactid', 'accountid', 'username', 'user', 'login', 'loginhint', 'email', 'to', 'fullname',
  'displayname', 'name', 'who',
]);

type Word = { word: string; id: string };
type Placed = Word & { at: number };

export const newSighting = (): Sighting => ({ clear: new Set(), short: new Set() });
export const seenAtAll = ({ clear, short }: Sighting): Set<string> => new Set([...clear, ...short]);

export function createNameFinder(people: readonly Leaver[]): NameFinder {
  const words: Word[] = people.flatMap(({ sourcedId: id, presenceId, email, givenName, familyName }) =>
    [id, presenceId, email ?? '', `${givenName} ${familyName}`].map((word) => ({ word, id })));
  const distinctive = placeWords(words.filter(({ word }) => isDistinctive(word)));
  // A user name may be a word of the language.
  const names = people.map(({ username, sourcedId }) => ({ word: username, id: sourcedId }));
  const short = Map.groupBy([...words.filter(({ word }) => !isDistinctive(word) && word.trim() !== ''), ...names], ({ word }) => word);
  const alone = Map.groupBy(
    people.flatMap(({ sourcedId: id, givenName, familyName, email }) => [givenName, familyName, email ?? ''].map((word) => ({ word, id }))),
    ({ word }) => word,
  );

  function inText(text: string, { clear }: Sighting): void {
    if (text.length < distinctiveLength) return;
    for (const reading of readingsOf(text)) {
      const own = tokensOf(reading);
      // Mostly nobody is named, and where each token stands need not be known.
      if (!reading.match(own)?.some((token) => distinctive.has(token))) continue;
      for (const { 0: token, index } of reading.matchAll(own)) {
        for (const { word, at, id } of distinctive.get(token) ?? []) if (standsAt(reading, word, index - at)) clear.add(id);
      }
    }
  }

  function asName(text: string, seen: Sighting): void {
    if (text !== '') for (const { id } of alone.get(text) ?? []) seen.short.add(id);
  }

  function asWord(word: string, seen: Sighting): void {
    for (const { id } of short.get(word) ?? []) seen.short.add(id);
  }

  function inUrl(url: string, seen: Sighting): void {
    inText(url, seen);
    const [, path = ''] = /^(?:[a-z][a-z\d+.-]*:\/\/[^/?#]*)?(.*)$/is.exec(url) ?? [];
    for (const reading of readingsOf(path)) for (const piece of reading.split(/[/?&=,;#|"]/)) asWord(piece, seen);
  }

  /** The same names of fields come again and again. */
  const fields = new Map<string, { clear: Set<string>; ofPerson: boolean }>();
  function fieldOf(name: string): { clear: Set<string>; ofPerson: boolean } {
    const known = fields.get(name);
    if (known) return known;
    const seen = newSighting();
    inText(name, seen);
    const field = { clear: seen.clear, ofPerson: personFields.has(name.toLowerCase().replaceAll(/[^a-z]/g, '')) };
    if (fields.size < mostFields) fields.set(name, field);
    return field;
  }

  /** Not by recursion: what a receiver answers may be as deep as it is long. */
  function inJson(given: unknown, seen: Sighting): void {
    const open: [value: unknown, ofPerson: boolean][] = [[given, false]];
    for (let next = open.pop(); next; next = open.pop()) {
      const [value, ofPerson] = next;
      if (typeof value === 'string') inText(value, seen);
      if (ofPerson && (typeof value === 'string' || typeof value === 'number')) for (const one of String(value).split(',')) asWord(one.trim(), seen);
      if (Array.isArray(value)) for (const one of value) open.push([one, ofPerson]);
      else if (typeof value === 'object' && value !== null) {
        for (const [name, one] of Object.entries(value)) {
          const field = fieldOf(name);
          for (const id of field.clear) seen.clear.add(id);
          open.push([one, field.ofPerson]);
        }
      }
    }
  }

  function inBytes(bytes: Uint8Array, seen: Sighting): void {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
    const value = parseJson(text);
    if (value === undefined) inText(text, seen);
    else inJson(value, seen);
  }

  return { inText, inUrl, inJson, inBytes, asName };
}

function isDistinctive(word: string): boolean {
  return word.length >= distinctiveLength && /\D/.test(word) && word.search(tokens) >= 0;
}

/** Each under that token of it which the fewest share, with where in the word it stands. */
function placeWords(words: readonly Word[]): Map<string, Placed[]> {
  const cut = words.map((one) => ({ ...one, tokens: [...one.word.matchAll(tokens)] }));
  const shared = new Map<string, number>();
  for (const { tokens: own } of cut) for (const [token] of own) shared.set(token, (shared.get(token) ?? 0) + 1);
  const placed = cut.map(({ word, id, tokens: own }) => {
    const rarest = own.reduce((best, one) => ((shared.get(one[0]) ?? 0) < (shared.get(best[0]) ?? 0) ? one : best));
    return { word, id, token: rarest[0], at: rarest.index };
  });
  return Map.groupBy(placed, ({ token }) => token);
}

/** The whole word, and not as a part of a longer one. */
function standsAt(text: string, word: string, at: number): boolean {
  if (at < 0 || !text.startsWith(word, at)) return false;
  const [before, after] = [text.slice(Math.max(0, at - 2), at), text.slice(at + word.length, at + word.length + 2)];
  return !(beginsInToken.test(word) && endsInToken.test(before)) && !(endsInToken.test(word) && beginsInToken.test(after));
}

/** As it is, and as it reads without what JSON and URLs put in the place of characters. */
function readingsOf(text: string): Iterable<string> {
  if (!/[\\%+]/.test(text)) return [text];
  const readings = new Set([text]);
  if (text.includes('\\')) readings.add(unescape(text));
  if (text.includes('%')) {
    const decoded = decode(text);
    readings.add(decoded).add(decode(decoded));
  }
  if (text.includes('+')) readings.add(decode(text.replaceAll('+', ' ')));
  return readings;
}

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };

function unescape(text: string): string {
  return text.replaceAll(/\\(?:u([\da-f]{4})|(.))/gi, (_, code: string | undefined, sign: string | undefined) =>
    code === undefined ? (escapes[sign ?? ''] ?? sign ?? '') : String.fromCharCode(Number.parseInt(code, 16)));
}

function decode(text: string): string {
  return text.replaceAll(/(?:%[\da-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
