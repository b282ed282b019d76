// In charge of turning a record's values into its JSON, once, when it is merged. What has no value is left out;
// status and dateLastModified come from the row itself and are put in front when it is read.
import { collections } from './collections.ts';
import { addressPlaceholder, type CollectionName, type Field, type Resource } from './resource.ts';

/** A checked value: text, list, pairs of a userIds list, or nothing. Dates and booleans are kept as their text. */
export type UserId = { type: string; identifier: string };
export type Value = string | readonly string[] | readonly UserId[] | undefined;

export type RenderedRecord = { record: string; late: string };

/** Both parts begin with a comma unless they are empty, so that they can be joined behind the first fields. */
export function renderRecord(resource: Resource, values: readonly Value[], metadata: string | undefined): RenderedRecord {
  let record = metadata === undefined ? '' : `,"metadata":${metadata}`;
  let late = '';
  for (let index = 0; index < resource.fields.length; index += 1) {
    const field = resource.fields[index] as Field;
    const value = values[index];
    if (value === undefined) continue;
    const property = `,"${field.name}":${renderValue(field, value)}`;
    if (field.late) late += property;
    else record += property;
  }
  return { record, late };
}

function renderValue(field: Field, value: Exclude<Value, undefined>): string {
  if (typeof value === 'string') return field.to ? renderReference(field.to, value) : JSON.stringify(value);
  if (field.type === 'refs' && field.to) return `[${(value as string[]).map((id) => renderReference(field.to as CollectionName, id)).join(',')}]`;
  return JSON.stringify(value);
}

export function renderReference(to: CollectionName, sourcedId: string): string {
  return `{"href":"${addressPlaceholder}/${to}/${encodeURIComponent(sourcedId)}","sourcedId":${JSON.stringify(sourcedId)},"type":"${collections[to].refType}"}`;
}
