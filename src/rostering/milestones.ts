// In charge of milestones: every thousandth key of a collection with how many records of each kind and status precede it,
// so that a deep offset is a seek.

/** Groups are named as in `collection/measure-collection.ts`. */
export type Milestone = { sourcedId: string; preceding: Readonly<Record<string, number>> };

/** Which groups count. */
export type Wanted = Readonly<{ kinds: readonly string[]; byAnyKind: boolean; status: string | undefined }>;

/** How many records of these groups there are, or precede a milestone. */
export function sumOf(groups: Readonly<Record<string, number>>, { kinds, byAnyKind, status }: Wanted): number {
  let sum = 0;
  for (const [group, count] of Object.entries(groups)) {
    const cut = group.lastIndexOf(' ');
    if (status !== undefined && group.slice(cut + 1) !== status) continue;
    const [main = '', several] = group.slice(0, cut).split('/');
    const counts = byAnyKind && several !== undefined ? several.split(',').some((kind) => kinds.includes(kind)) : kinds.includes(main);
    if (counts) sum += count;
  }
  return sum;
}

/** The last milestone that at most `offset` of these records precede. */
export function findMilestone(
  milestones: readonly Milestone[],
  wanted: Wanted,
  offset: number,
): { sourcedId: string; preceding: number } | undefined {
  let [low, high] = [0, milestones.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sumOf(milestones[middle]?.preceding ?? {}, wanted) <= offset) low = middle + 1;
    else high = middle;
  }
  const milestone = milestones[low - 1];
  return milestone && { sourcedId: milestone.sourcedId, preceding: sumOf(milestone.preceding, wanted) };
}
