// In charge of the rules for one record of a provider's JSON. It is lenient where providers differ in how they write a
// value, and strict in what a value must be; a record that breaks a rule is rejected as a whole.
import { cutText } from '../../../http/cut-text.ts';
import { collections } from '../../../roster/collections.ts';
import { isGiven, isRequired, type Edition, type Field, type Item, type Resource, type UserId, type Value } from '../../../roster/resource.ts';
import { userProfiles } from '../../../roster/resources/user-profile.ts';
import { userRoles } from '../../../roster/resources/user-role.ts';
import type { Problem } from '../../problem.ts';
import type { SourceRow } from '../../source.ts';
import { checkValue, idRule, textRule, writtenStatuses, type Broken } from '../../value-rules.ts';
import { idOf, isAbsent, isEmpty, isGone } from './json-value.ts';
import type { JsonRecord } from './read-page.ts';
import { fillIn, fillRoleTypes } from './stand-in.ts';

export type RecordCheck = (record: JsonRecord, line: number, fail: (problem: Problem) => void) => SourceRow | { rejected: string | undefined };

export function createRecordCheck(resource: Resource, edition: Edition): RecordCheck {
  const file = resource.collection;
  return (given, line, fail) => {
    const record = resource === collections.users && edition === 'v1p2' ? { ...given, roles: fillRoleTypes(given.roles) } : given;
    let failed = false;
    const broken = (column: string, value: string, rule: string) => {
      failed = true;
      // What is wrong about an account may be its password.
      fail({ file, line, column, value: column === userProfiles.name ? null : value, rule });
    };
    const sourcedId = (textOf(record.sourcedId) ?? '').trim();
    const idFault = textFault(sourcedId) ?? idRule(sourcedId);
    if (idFault) broken('sourcedId', sourcedId, idFault);
    const status = isAbsent(record.status) ? '' : show(record.status).trim();
    if (!writtenStatuses.includes(status)) broken('status', status, 'must be active or tobedeleted');
    const gone = isGone(status);
    const values = resource.fields.map((field) =>
      !isGiven(field) || (field.only ?? edition) !== edition || (gone && field === userRoles && isEmpty(record.roles))
        ? undefined
        : checkField(field, record[field.name], (value, rule) => broken(field.name, value, rule), edition),
    );
    const metadata = readMetadata(record.metadata, broken);
    if (failed) return { rejected: sourcedId || undefined };
    const read = { line, sourcedId, status: gone ? 'tobedeleted' : 'active', metadata } as const;
    if (edition === 'v1p1') return { ...read, values };
    const { values: filled, lacks } = fillIn(resource, sourcedId, values);
    return { ...read, values: filled, ...(lacks.length > 0 ? { lacks } : {}) };
  };
}

function checkField(field: Field, value: unknown, broken: Broken, edition: Edition): Value {
  const many = manyTypes.includes(field.type);
  const items = (many && Array.isArray(value) ? value : [value]).filter((item) => !isAbsent(item));
  if (items.length === 0) {
    // What has something to stand in its place need not be there.
    if (isRequired(field, edition) && !field.blank) broken('', 'must not be blank');
    return undefined;
  }
  if (field.type === 'userIds') return items.map((item) => checkUserId(item, broken));
  if (field.type === 'items') return items.map((item) => checkObject(field.items ?? [], item, broken, edition));
  const checked = items.map((item) => checkItem(field, field.to === undefined ? item : idOf(item), broken, edition));
  return many ? checked : checked[0];
}

const manyTypes: readonly Field['type'][] = ['list', 'refs', 'userIds', 'items'];

/** One of a list that has fields of its own; what it has besides, such as a password, is read past. */
function checkObject(fields: readonly Field[], item: unknown, broken: Broken, edition: Edition): Item {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) {
    broken(show(item), `must be an object with ${fields.filter((field) => isRequired(field, edition)).map(({ name }) => name).join(', ')}`);
    return {};
  }
  const read = fields.map((field) => {
    const value = checkField(field, (item as JsonRecord)[field.name], (given, rule) => broken(given, `${field.name} ${rule}`), edition);
    return [field.name, value] as const;
  });
  return Object.fromEntries(read.filter(([, value]) => value !== undefined)) as Item;
}

function checkItem(field: Field, item: unknown, broken: Broken, edition: Edition): string {
  const text = textOf(item);
  const fault = text === undefined || text.trim() === '' ? describeShape(field) : textFault(text);
  if (text !== undefined && !fault) return checkValue(field, text, broken, edition);
  broken(show(item), fault ?? describeShape(field));
  return '';
}

function describeShape(field: Field): string {
  return field.to === undefined ? 'must be a text' : `must be a reference to one of ${field.to}, with its sourcedId`;
}

function checkUserId(item: unknown, broken: Broken): UserId {
  const { type, identifier } = (typeof item === 'object' && item !== null ? item : {}) as JsonRecord;
  const pair = { type: (textOf(type) ?? '').trim(), identifier: (textOf(identifier) ?? '').trim() };
  const fault = pair.type === '' || pair.identifier === '' ? 'must have a type and an identifier' : (textFault(pair.type) ?? textFault(pair.identifier));
  if (fault) broken(show(item), fault);
  return pair;
}

/** Kept as text, which is what filters and the CSV form know; in one order, since a provider's may differ each time. */
function readMetadata(given: unknown, broken: (column: string, value: string, rule: string) => void): string | undefined {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return undefined;
  const entries: [string, string][] = [];
  for (const [key, value] of Object.entries(given).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const text = isAbsent(value) ? undefined : textOf(value);
    if (text === undefined || key.trim() === '') continue;
    const fault = textFault(key) ?? textFault(text);
    if (fault) broken(cutText(`metadata.${key}`, 100), text, fault);
    entries.push([key, text]);
  }
  return entries.length > 0 ? JSON.stringify(Object.fromEntries(entries)) : undefined;
}

/** A whole number beyond this has lost digits on the way, and would be another id. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  return typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER ? String(value) : undefined;
}

/** JSON can escape half a character, which the database does not take. */
function textFault(text: string): string | undefined {
  return text.isWellFormed() ? textRule(text) : 'must not hold half a character';
}

function show(value: unknown): string {
  return textOf(value) ?? JSON.stringify(value) ?? '';
}
