// In charge of how a value of a record is shown: references as links with the names of what they lead to, everything else as text.
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { describeDetail, findPlainName } from '../../onboarding/plain-names.ts';
import { collections } from '../../roster/collections.ts';
import type { CollectionName, Resource } from '../../roster/resource.ts';
import type { NamedRecord } from '../../rostering/record-names.ts';
import { recordPath } from './around.ts';

export type Names = ReadonlyMap<string, NamedRecord>;
type Reference = { sourcedId: string; type: string };

const shownInList = 20;
const longestText = 600;

/** What an operator reads is not about what they share. */
export function labelOf({ collection }: Resource, field: string): string {
  return (findPlainName(collection, field) ?? field).replace(/, as far as you share those people$/, '').replace(/ that your system exports.*$/, '');
}

export const keyOf = (collection: CollectionName, id: string) => `${collection} ${id}`;

/** A reference by the type that it says, in any dialect. */
function collectionOf(type: string): CollectionName | undefined {
  return Object.values(collections).find(({ refType }) => refType === type)?.collection;
}

function isReference(value: unknown): value is Reference {
  return typeof value === 'object' && value !== null && 'sourcedId' in value && 'type' in value;
}

/** The first of each field's, which are those that are shown. */
export function listReferences(record: Readonly<Record<string, unknown>>): { collection: CollectionName; sourcedId: string }[] {
  return Object.values(record).flatMap((value) =>
    [value].flat().slice(0, shownInList).flatMap(referencesIn).flatMap(({ sourcedId, type }) => {
      const collection = collectionOf(type);
      return collection ? [{ collection, sourcedId }] : [];
    }));
}

/** It may be one itself, or have some, as a role has its organisation. */
function referencesIn(value: unknown): Reference[] {
  if (isReference(value)) return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).filter(isReference) : [];
}

export function renderLink(estab: string, collection: CollectionName, sourcedId: string, name: string | undefined): Html {
  return html`<a href="${recordPath(estab, collection, sourcedId)}"><bdi>${name === undefined || name.trim() === '' ? sourcedId : name}</bdi></a>`;
}

export function renderValue(estab: string, value: unknown, names: Names): HtmlValue {
  if (value === undefined || value === null) return html`<span class="quiet">–</span>`;
  if (Array.isArray(value)) {
    const items = value.slice(0, shownInList).map((one) => renderItem(estab, one, names));
    const more = value.length > shownInList && html`<li class="quiet">and ${value.length - shownInList} more, in the JSON</li>`;
    return items.length === 1 ? items[0] : html`<ul class="places">${items.map((item) => html`<li>${item}</li>`)}${more}</ul>`;
  }
  return renderItem(estab, value, names);
}

function renderItem(estab: string, value: unknown, names: Names): HtmlValue {
  if (isReference(value)) {
    const collection = collectionOf(value.type);
    if (collection === undefined) return html`<bdi>${value.sourcedId}</bdi>`;
    const named = names.get(keyOf(collection, value.sourcedId));
    const left = named && named.status !== 'active' && html` <span class="quiet">(to be deleted)</span>`;
    return html`${renderLink(estab, collection, value.sourcedId, named?.name)}${left}`;
  }
  if (value === 'true' || value === true) return 'Yes';
  if (value === 'false' || value === false) return 'No';
  if (typeof value === 'object' && value !== null) {
    const pairs = 'type' in value && 'identifier' in value ? [[String(value.type), value.identifier] as const] : Object.entries(value);
    return html`${pairs.map(([key, one]) => html`<div>${describeDetail(key)}: ${renderValue(estab, one, names)}</div>`)}`;
  }
  return html`<bdi>${clip(value)}</bdi>`;
}

function clip(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > longestText ? `${text.slice(0, longestText)}…` : text;
}
