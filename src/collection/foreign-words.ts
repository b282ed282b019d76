// In charge of the words that came with a roster and that OneRoster 1.1 does not have: where, how often, and what 1.1 shows instead.
import { extension, valuesOf, type Field, type Item, type Resource, type Value } from '../roster/resource.ts';
import { toSingleRole, userRoles } from '../roster/resources/user-role.ts';
import type { SourceRow } from './source.ts';

/** shown: in 1.1, where null means nothing. records: that have it; of roles, how many of these. */
export type ForeignWord = { file: string; column: string; word: string; shown: string | null; records: number };

/** So many are told apart; a file can have a word of its own in each row. */
const mostWords = 200;

export type WordCount = Readonly<{ note(resource: Resource, rows: readonly SourceRow[]): void; list(): ForeignWord[] }>;

/** asFiles: whether the source has files, or lists of a provider. */
export function createWordCount(asFiles: boolean): WordCount {
  const found = new Map<string, ForeignWord>();
  const count = (resource: Resource, field: Field, within: Field | undefined, word: string, shown: string | null) => {
    const file = asFiles ? (within?.file ?? resource.file) : resource.collection;
    const column = asFiles ? (field.csv ?? field.name) : [within?.name, field.name].filter(Boolean).join('.');
    const key = JSON.stringify([file, column, word]);
    const known = found.get(key) ?? { file, column, word, shown, records: 0 };
    if (found.size < mostWords) found.set(key, known);
    known.records += 1;
  };
  return {
    note(resource, rows) {
      const own = resource.fields.flatMap((field, at) => (field.foreign || field === userRoles ? [{ field, at }] : []));
      if (own.length === 0) return;
      for (const { values } of rows) {
        for (const { field, at } of own) {
          for (const { word, shown } of field === userRoles ? ownRoles(values[at]) : ownWord(field, values[at]))
            count(resource, field === userRoles ? roleWord : field, field === userRoles ? field : undefined, word, shown);
        }
      }
    },
    list: () => [...found.values()],
  };
}

const roleWord = userRoles.items?.find(({ name }) => name === 'role') ?? userRoles;

type Word = Pick<ForeignWord, 'word' | 'shown'>;

function ownWord(field: Field, value: Value): readonly Word[] {
  if (typeof value !== 'string' || valuesOf(field, 'v1p1').includes(value)) return [];
  return [{ word: value, shown: field.foreign === 'shown' ? value : null }];
}

/** The standard's own words become those of 1.1 by a rule that is known. */
function ownRoles(roles: Value): readonly Word[] {
  const words = ((roles ?? []) as readonly Item[]).map(({ role }) => String(role));
  return words.filter((word) => extension.test(word)).map((word) => ({ word, shown: toSingleRole(word) }));
}

/** In one line, for whoever imported it. */
export function describeWord({ file, column, word, shown, records }: ForeignWord): string {
  const many = `${records} record${records === 1 ? '' : 's'}`;
  const how = shown === null ? 'left out' : shown === word ? 'shown as it is' : `shown as ${shown}`;
  return `${file}, ${column} "${word}": ${many}; OneRoster 1.1 has no such word, there it is ${how}`;
}
