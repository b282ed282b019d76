// In charge of JSON as a page shows it: laid out to be read, unless that would make a page without an end of what somebody sent.

/** Every level moves all that is below it to the right: a few thousand levels in ten kilobytes would be a hundred megabytes of spaces. */
const deepest = 32;
const longest = 512 * 1024;

export function layOutJson(value: unknown): string {
  const laidOut = isDeeper(value, deepest) ? undefined : JSON.stringify(value, null, 2);
  return laidOut === undefined || laidOut.length > longest ? JSON.stringify(value) : laidOut;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1));
}
