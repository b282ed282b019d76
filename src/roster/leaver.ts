// In charge of people who leave for good: who they were, and how a text that names one of them is told.
import type { Tx } from '../db/connect.ts';

export type Leaver = Readonly<{
  sourcedId: string;
  presenceId: string;
  username: string;
  email: string | null;
  givenName: string;
  familyName: string;
}>;

/** Takes from what a feature keeps whatever is about these people of a school, or what names them in it. */
export type ForgetPeople = (tx: Tx, estab: string, people: readonly Leaver[]) => Promise<void>;

export const sourcedIdsOf = (people: readonly Leaver[]): string[] => people.map(({ sourcedId }) => sourcedId);

/** Shorter ones, and numbers, stand in every text. */
const distinctiveLength = 6;

/**
 * PostgreSQL's regular expressions for a text, and for bytes as `encode(…, 'escape')` shows them, that name one of them:
 * by an id, an address or the full name, as it is, in JSON and in a URL. What is too short to say anything by itself
 * counts where it is a whole string of JSON or a whole piece of a URL.
 */
export function patternsOf(people: readonly Leaver[]): { text: string; bytes: string } {
  const words = people.flatMap(({ sourcedId, presenceId, email, givenName, familyName }) => [sourcedId, presenceId, email ?? '', `${givenName} ${familyName}`]);
  const distinctive = formsOf(words.filter(isDistinctive));
  // A user name may be a word of the language.
  const short = formsOf([...words.filter((word) => !isDistinctive(word)), ...people.map(({ username }) => username)]);
  return { text: patternOf(distinctive, short), bytes: patternOf(distinctive.map(escapeBytes), short.map(escapeBytes)) };
}

function isDistinctive(word: string): boolean {
  return word.length >= distinctiveLength && /\D/.test(word);
}

function formsOf(words: readonly string[]): string[] {
  return [...new Set(words.filter((word) => word !== '').flatMap((word) => [word, JSON.stringify(word).slice(1, -1), encodeURIComponent(word)]))];
}

function patternOf(distinctive: readonly string[], short: readonly string[]): string {
  const anyOf = (words: readonly string[]) => `(${words.map((word) => word.replaceAll(/[^\p{L}\p{N}]/gu, '\\$&')).join('|')})`;
  const parts = [
    ...(distinctive.length > 0 ? [`(^|[^[:alnum:]_-])${anyOf(distinctive)}($|[^[:alnum:]_-])`] : []),
    ...(short.length > 0 ? [`["=/|]${anyOf(short)}($|["&#/?|])`] : []),
  ];
  // Nobody is named by what never matches.
  return parts.length > 0 ? parts.join('|') : '$.^';
}

function escapeBytes(word: string): string {
  return [...Buffer.from(word)]
    .map((byte) => (byte === 0 || byte > 127 ? `\\${byte.toString(8).padStart(3, '0')}` : byte === 92 ? '\\\\' : String.fromCharCode(byte)))
    .join('');
}
