// Lists that a CSV package of 1.2 pairs item by item, such as `subjects` and `subjectCodes`, and that must therefore be equally long.
// If the lists of a record are not, a package of 1.2 has them in the columns `metadata.subjects` and `metadata.subjectCodes`, and the
// import of a package of 1.2 reads them back from there. Packages of 1.1 and JSON have no such rule.
import type { Edition, Resource } from '../roster/resource.ts';

const pairedEdition: Edition = 'v1p2';

/** Moves lists of different lengths to the metadata. Both stay where they are if the record has metadata of its own by the name of one of them. */
export function moveUnpaired<Shown extends Readonly<Record<string, unknown>>>({ fields }: Pick<Resource, 'fields'>, record: Shown): Shown {
  const metadata = (record.metadata ?? {}) as Record<string, string>;
  const isTaken = (csv: string | undefined) => csv !== undefined && Object.hasOwn(metadata, csv);
  const moved = fields.flatMap(({ name, csv, pairedWith }) => {
    if (csv === undefined || pairedWith === undefined) return [];
    const [list, other] = [listOf(record, name), listOf(record, pairedWith)];
    const stays = list.length === 0 || list.length === other.length || isTaken(csv) || isTaken(fields.find((field) => field.name === pairedWith)?.csv);
    return stays ? [] : [{ name, csv, list }];
  });
  if (moved.length === 0) return record;
  return {
    ...record,
    ...Object.fromEntries(moved.map(({ name }) => [name, undefined])),
    metadata: { ...metadata, ...Object.fromEntries(moved.map(({ csv, list }) => [csv, list.join(',')])) },
  };
}

const listOf = (record: Readonly<Record<string, unknown>>, name: string) => (record[name] ?? []) as readonly string[];

/** Returns a function that moves the lists of a row from its metadata back to their columns, if these are blank. */
export function createRestorePaired(
  { fields }: Pick<Resource, 'fields'>,
  edition: Edition,
  columns: readonly string[],
): (cells: readonly string[]) => readonly string[] {
  const positionOf = (name: string | undefined) => columns.indexOf(fields.find((field) => field.name === name)?.csv ?? '');
  const lists = fields
    .filter(({ pairedWith }) => edition === pairedEdition && pairedWith !== undefined)
    .map(({ name, csv, pairedWith }) => ({ to: positionOf(name), other: positionOf(pairedWith), from: columns.indexOf(`metadata.${csv}`) }))
    .filter(({ to, from }) => to >= 0 && from >= 0);
  if (lists.length === 0) return (cells) => cells;
  return (cells) => {
    const isBlank = (position: number) => (cells[position] ?? '').trim() === '';
    const restored = [...cells];
    for (const { to, other, from } of lists) {
      if (!isBlank(to) || !isBlank(other)) continue;
      restored[to] = cells[from] ?? '';
      restored[from] = '';
    }
    return restored;
  };
}
