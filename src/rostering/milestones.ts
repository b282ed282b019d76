// In charge of milestones: every thousandth key of a collection with how many records of each kind and status precede it,
// so that a deep offset is a seek.

/** Groups are named as `groupOf` has it. */
export type Milestone = { sourcedId: string; preceding: Readonly<Record<string, number>> };

/** Which groups count. */
export type Wanted = Readonly<{ kinds: readonly string[]; byAnyKind: boolean; status: string | undefined }>;

/** How many records of these groups there are, or precede a milestone. */
export function sumOf(counts: Readonly<Record<string, number>>, { kinds, byAnyKind, status }: Wanted): number {
  let sum = 0;
  for (const [group, count] of Object.entries(counts)) {
    const cut = group.lastIndexOf(' ');
    const [main = '', several] = group.slice(0, cut).split('/');
    const own = byAnyKind && several !== undefined ? several.split(',') : [main];
    if (own.some((kind) => kinds.includes(kind)) && (status === undefined || group.slice(cut + 1) === status)) sum += count;
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
