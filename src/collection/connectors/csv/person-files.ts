// In charge of the two files of 1.2 whose rows are parts of a person: how each is checked, and what becomes of a row. Neither has
// metadata to be shown, nor are passwords kept.
import type { Field, Item } from '../../../roster/resource.ts';
import { profilesFile, userProfiles } from '../../../roster/resources/user-profile.ts';
import { rolesFile, userRoles } from '../../../roster/resources/user-role.ts';
import { profileParts, roleParts, type PersonPart } from '../../person-parts.ts';
import type { SourceRow } from '../../source.ts';
import type { CheckedFile } from './check-row.ts';

export const personColumn = 'userSourcedId';

/** One of the person's roles or profiles, as its file has it. moved: the row gives to somebody else what this person has. */
export type ItemRow = Readonly<{ file: string; line: number; id: string; person: string; status: SourceRow['status']; item: Item; moved?: true }>;

export type PersonFile = Readonly<{ checked: CheckedFile; part: PersonPart; toItem(id: string, values: Item): Item }>;

const person: Field = { name: 'user', type: 'ref', column: 'user', csv: personColumn, to: 'users', required: true, about: 'The person.' };
const fieldsOf = ({ items = [] }: Field): readonly Field[] => items.flatMap((field) => (field.items ? field.items : field.csv === 'sourcedId' ? [] : [field]));

const checkedFile = ({ name, header }: typeof rolesFile, field: Field): CheckedFile => ({
  file: name,
  headers: { v1p1: [], v1p2: [header] },
  fields: [person, ...fieldsOf(field)],
});

export const roleRows: PersonFile = { checked: checkedFile(rolesFile, userRoles), part: roleParts, toItem: (id, values) => ({ id, ...values }) };

/** A row has one credential. */
export const profileRows: PersonFile = {
  checked: checkedFile(profilesFile, userProfiles),
  part: profileParts,
  toItem: (id, { type, username, ...values }) => ({ profileId: id, ...values, credentials: [{ type, username } as Item] }),
};

export function readItem({ checked, toItem }: PersonFile, { line, sourcedId: id, status, values: [of, ...values] }: SourceRow): ItemRow {
  const given = checked.fields.slice(1).flatMap(({ name }, at) => (values[at] === undefined ? [] : [[name, values[at]] as const]));
  return { file: checked.file, line, id, person: String(of), status, item: toItem(id, Object.fromEntries(given) as Item) };
}
