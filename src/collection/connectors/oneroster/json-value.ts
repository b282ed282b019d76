// In charge of what providers mean by a value of their JSON, however they write it.

export function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
}

export function isEmpty(value: unknown): boolean {
  return Array.isArray(value) ? value.every(isAbsent) : isAbsent(value);
}

/** Of a status; inactive is what OneRoster 1.0 had for tobedeleted. */
export function isGone(status: unknown): boolean {
  return status === 'tobedeleted' || status === 'inactive';
}

/** A reference is an object; some providers write the id alone. */
export function idOf(item: unknown): unknown {
  return typeof item === 'object' && item !== null ? (item as Readonly<Record<string, unknown>>).sourcedId : item;
}

/** The id in a reference; blank where there is none. */
export function idText(reference: unknown): string {
  const id = idOf(reference);
  return typeof id === 'string' || typeof id === 'number' ? String(id).trim() : '';
}
