// In charge of turning a record's values into its JSON, once, when it is merged: as 1.1 has it, and what differs from that in 1.2.
// What has no value is left out; status and dateLastModified come from the row itself and are put in front when it is read.
import { collections } from './collections.ts';
import { addressPlaceholder, valuesOf, type CollectionName, type Field, type Item, type Resource, type Value } from './resource.ts';

/** lacks: the fields that the source left out, and that have something in their place because 1.1 requires them. */
export type RecordValues = Readonly<{ sourcedId: string; values: readonly Value[]; metadata: string | undefined; lacks?: readonly string[] | undefined }>;

/**
 * All texts begin with a comma unless they are empty, so that they can be joined behind the first fields. A record of 1.2 has so many
 * characters of `record` as are shared (all of them where that is undefined), and then `v1p2`.
 */
export type RenderedRecord = Readonly<{ record: string; late: string; v1p2: string; shared: number | undefined }>;

export function renderRecord(resource: Resource, { sourcedId, values, metadata, lacks }: RecordValues): RenderedRecord {
  let record = metadata === undefined ? '' : `,"metadata":${metadata}`;
  let late = '';
  let own = '';
  let added = '';
  let shared: number | undefined;
  const steps = stepsOf(resource);
  for (let index = 0; index < steps.length; index += 1) {
    const { field, prefix, way, blank } = steps[index] as Step;
    const value = values[index];
    if (way === 'second') {
      const shown = value ?? field.otherwise?.((name) => values[steps.findIndex((step) => step.field.name === name)]);
      if (shown !== undefined) added += prefix + renderValue(field, shown);
    } else if (value === undefined) {
      if (blank !== undefined) added += prefix + JSON.stringify(blank === 'sourcedId' ? sourcedId : blank);
    } else if (way === 'late') {
      late += prefix + renderValue(field, value);
    } else {
      const property = prefix + renderValue(field, value);
      if (way === 'alike' && lacks === undefined) {
        record += property;
        if (shared !== undefined) own += property;
        continue;
      }
      const [one, two] = renderBoth(field, value, property, lacks?.includes(field.name) === true);
      if (shared === undefined && one !== '' && one !== two) shared = record.length;
      if (shared !== undefined) own += two;
      else if (one === '') added += two;
      record += one;
    }
  }
  return { record, late, v1p2: own + added, shared: shared === undefined ? undefined : charactersIn(record.slice(0, shared)) };
}

/** What is done with each field, found out once: of a million enrolments each has seven. second: it is of 1.2 alone. */
type Step = Readonly<{ field: Field; prefix: string; way: 'alike' | 'differs' | 'late' | 'second'; blank: Field['blank'] }>;

const known = new Map<Resource, readonly Step[]>();

function stepsOf(resource: Resource): readonly Step[] {
  const steps = known.get(resource) ?? resource.fields.map(toStep);
  known.set(resource, steps);
  return steps;
}

function toStep(field: Field): Step {
  const { name, only, late, spelled, foreign, blank } = field;
  const differs = only !== undefined || spelled !== undefined || foreign === 'omitted';
  return { field, prefix: `,"${name}":`, way: only === 'v1p2' ? 'second' : late ? 'late' : differs ? 'differs' : 'alike', blank };
}

/** The property in 1.1 and in 1.2; empty where it is not shown. */
function renderBoth(field: Field, value: Exclude<Value, undefined>, property: string, lacking: boolean): readonly [string, string] {
  if (field.only === 'v1p1' || lacking) return [property, ''];
  if (typeof value !== 'string') return [property, property];
  if (field.spelled && Object.hasOwn(field.spelled, value)) return [property, `,"${field.name}":"${field.spelled[value]}"`];
  return [field.foreign === 'omitted' && !valuesOf(field, 'v1p1').includes(value) ? '' : property, property];
}

/** As the database counts them. */
export function charactersIn(text: string): number {
  return /[\ud800-\udfff]/.test(text) ? Array.from(text).length : text.length;
}

function renderValue(field: Field, value: Exclude<Value, undefined>): string {
  if (field.type === 'items') return `[${(value as readonly Item[]).map((item) => renderItem(field.items ?? [], item)).join(',')}]`;
  if (typeof value === 'string') {
    if (field.to) return renderReference(field.to, value);
    // What can stand there needs no escaping, and a placeholder would not outlive it.
    if (field.type === 'enum' || field.type === 'date') return `"${value}"`;
    return JSON.stringify(field.type === 'uri' ? toUri(value) : value);
  }
  if (field.type === 'refs' && field.to) return `[${(value as string[]).map((id) => renderReference(field.to as CollectionName, id)).join(',')}]`;
  return JSON.stringify(value);
}

function renderItem(fields: readonly Field[], item: Item): string {
  const properties = fields.flatMap((field) => {
    const value = item[field.name];
    return value === undefined || value.length === 0 ? [] : [`"${field.name}":${renderValue(field, value)}`];
  });
  return `{${properties.join(',')}}`;
}

const uri = /^[a-z][a-z\d+.-]*:(?:[\w\-.~:/?@!$&'()*+,;=]|%[\da-f]{2})+(?:#(?:[\w\-.~:/?@!$&'()*+,;=]|%[\da-f]{2})*)?$/i;
const ownUri = 'urn:schoolbell:userprofile:';

/** What is none is made one, so that it can be told what it was. */
export function toUri(id: string): string {
  return uri.test(id) ? id : ownUri + encodeURIComponent(id);
}

/** Ids that are the same in an address and in JSON; most are. */
const plainId = /^[\w\-.!~*'()]+$/;

export function renderReference(to: CollectionName, sourcedId: string): string {
  if (plainId.test(sourcedId)) return `{"href":"${addressPlaceholder}/${to}/${sourcedId}","sourcedId":"${sourcedId}","type":"${collections[to].refType}"}`;
  return `{"href":"${addressPlaceholder}/${to}/${encodeURIComponent(sourcedId)}","sourcedId":${JSON.stringify(sourcedId)},"type":"${collections[to].refType}"}`;
}
