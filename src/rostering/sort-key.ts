// In charge of the order of what records are sorted by, as the database has it: by code points, lists item by item, what is missing last
// whichever way it goes.

/** Texts as their bytes, in the order of which code points are. */
export type SortKey = number | Buffer | readonly (Buffer | undefined)[] | undefined;

export function toSortKey(value: unknown): SortKey {
  if (value === null || value === undefined) return undefined;
  if (Array.isArray(value)) return value.map((item) => (item === null ? undefined : Buffer.from(String(item))));
  return typeof value === 'number' ? value : Buffer.from(String(value));
}

export function compareKeys(a: SortKey, b: SortKey, descending: boolean): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return descending ? compareValues(b, a) : compareValues(a, b);
}

function compareValues(a: NonNullable<SortKey>, b: NonNullable<SortKey>): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (Buffer.isBuffer(a) && Buffer.isBuffer(b)) return Buffer.compare(a, b);
  return Array.isArray(a) && Array.isArray(b) ? compareLists(a, b) : 0;
}

/** An item that is nothing comes after all others, and a list that has ended before. */
function compareLists(a: readonly (Buffer | undefined)[], b: readonly (Buffer | undefined)[]): number {
  for (let at = 0; at < a.length && at < b.length; at += 1) {
    const [item, other] = [a[at], b[at]];
    const order = item && other ? Buffer.compare(item, other) : Number(item === undefined) - Number(other === undefined);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}
