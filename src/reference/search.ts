// Full-text search over the reference. The index is built once; a query reads only the index and never the texts.
//
// A query word matches a part of any word of an entry, and an entry is found if every query word matches. No query word
// contains a space, so each match lies within one space-separated piece of text. The index therefore stores:
//
// 1. every distinct piece, in lower case;
// 2. for each piece its postings: which fields of which entries contain it;
// 3. for each entry its group. Entries of one group have the same kind, name and text, and are shown as one result.
//
// `search` compares each query word with each distinct piece, adds up the scores of the postings of the pieces that match,
// and sorts the entries that matched every word. Its work is limited by the size of the index and by `maxWords`.

export type Entry = Readonly<{ kind: Kind; title: string; where: string; path: string; words: string }>;
export type Kind = 'Guide' | 'Operation' | 'Parameter' | 'Header' | 'Field' | 'Event' | 'Group';
export type SearchIndex = Readonly<{ entries: readonly Entry[]; groups: readonly number[]; pieces: readonly Piece[] }>;
/** `postings` holds numbers made by `encodePosting`. */
type Piece = Readonly<{ text: string; postings: readonly number[] }>;

/** A result; `alike` counts the other entries of its group. */
export type SearchResult = Entry & Readonly<{ alike: number }>;

/** A match in a title counts most, so that a thing comes before the texts that mention it. */
const fields = [
  { name: 'title', weight: 9 },
  { name: 'where', weight: 3 },
  { name: 'words', weight: 1 },
] as const;
const kindScores: Readonly<Record<Kind, number>> = { Guide: 3, Operation: 4, Event: 4, Group: 3, Parameter: 2, Header: 2, Field: 1 };
const matchScores = { wholeField: 4, wholeWord: 3, beginning: 2, inside: 1, none: 0 } as const;

const maxWords = 12;

export function createSearchIndex(entries: readonly Entry[]): SearchIndex {
  const groupNumbers = new Map<string, number>();
  const postings = new Map<string, number[]>();
  const groups = entries.map(({ kind, title, words, path }) => {
    const key = JSON.stringify([kind, title, words, path.split('/')[2]]);
    const group = groupNumbers.get(key) ?? groupNumbers.size;
    groupNumbers.set(key, group);
    return group;
  });
  for (const [position, entry] of entries.entries()) {
    for (const [field, { name }] of fields.entries()) {
      const pieces = new Set(splitWords(entry[name]));
      for (const piece of pieces) {
        const posting = encodePosting(position, field, piece === entry[name].toLowerCase());
        const list = postings.get(piece);
        if (list) list.push(posting);
        else postings.set(piece, [posting]);
      }
    }
  }
  return { entries, groups, pieces: [...postings].map(([text, list]) => ({ text, postings: list })) };
}

/** `isWholeField`: the field consists of nothing but the piece. */
const encodePosting = (entry: number, field: number, isWholeField: boolean): number => entry * 8 + field * 2 + (isWholeField ? 1 : 0);

const splitWords = (text: string): string[] => text.toLowerCase().split(/\s+/).filter((word) => word !== '');

/** Returns the best `limit` results, one for each group, and the number of all groups that match. */
export function search({ entries, groups, pieces }: SearchIndex, query: string, limit: number): { results: readonly SearchResult[]; total: number } {
  const words = [...new Set(splitWords(query.replaceAll(/[,;]/g, ' ')))].slice(0, maxWords);
  if (words.length === 0) return { results: [], total: 0 };
  const scores = words.map((word) => scoreEntries(pieces, entries.length, word));
  const matches = entries.flatMap((entry, position) => {
    let score = kindScores[entry.kind] / 10;
    for (const ofWord of scores) {
      const found = ofWord[position] ?? 0;
      if (found === 0) return [];
      score += found;
    }
    return [{ entry, group: groups[position], score }];
  });
  const best = new Map<number | undefined, { entry: Entry; alike: number }>();
  for (const { entry, group } of matches.toSorted((a, b) => b.score - a.score || a.entry.title.length - b.entry.title.length)) {
    const first = best.get(group);
    if (first) first.alike += 1;
    else best.set(group, { entry, alike: 0 });
  }
  return { results: [...best.values()].slice(0, limit).map(({ entry, alike }) => ({ ...entry, alike })), total: best.size };
}

/** Returns the score of every entry for one query word: that of its best field, or 0 if the word does not occur. */
function scoreEntries(pieces: readonly Piece[], count: number, word: string): Uint8Array {
  const scores = new Uint8Array(count);
  for (const { text, postings } of pieces) {
    const match = scoreMatch(text, word);
    if (match === matchScores.none) continue;
    for (const posting of postings) {
      const isWholeField = posting % 2 === 1 && text === word;
      const score = (fields[(posting >> 1) % 4]?.weight ?? 0) * (isWholeField ? matchScores.wholeField : match);
      const entry = posting >> 3;
      if (score > (scores[entry] ?? 0)) scores[entry] = score;
    }
  }
  return scores;
}

function scoreMatch(text: string, word: string): number {
  let best: number = matchScores.none;
  const isLetter = (at: number) => /[\p{L}\p{N}]/u.test(text.charAt(at));
  for (let at = text.indexOf(word); at >= 0 && best < matchScores.wholeWord; at = text.indexOf(word, at + 1)) {
    const score = isLetter(at - 1) ? matchScores.inside : isLetter(at + word.length) ? matchScores.beginning : matchScores.wholeWord;
    best = Math.max(best, score);
  }
  return best;
}
