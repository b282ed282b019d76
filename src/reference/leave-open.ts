// In charge of room for what is added: an answer has exactly the fields that its schema has, and tests hold it to that; but a client must bear
// with fields that come later, so that what is published does not forbid them.

/** The same without a word on further fields, unless they are of a kind. */
export function leaveOpen<T>(part: T): T {
  if (Array.isArray(part)) return part.map(leaveOpen) as T;
  if (part === null || typeof part !== 'object') return part;
  const entries = Object.entries(part).filter(([name, value]) => !(name === 'additionalProperties' && value === false));
  return Object.fromEntries(entries.map(([name, value]) => [name, leaveOpen(value)])) as T;
}
