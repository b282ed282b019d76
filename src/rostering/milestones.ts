// In charge of milestones: every thousandth key of a collection with how many records of each kind and status precede it,
// so that a deep offset is a seek.

/** Groups are named as `groupsOf` has it. */
export type Milestone = { sourcedId: string; preceding: Readonly<Record<string, number>> };

/** Which groups count. */
export type Wanted = Readonly<{ kinds: readonly string[]; byAnyKind: boolean; status: string | undefined }>;

/** How many records of these groups there are, or precede a milestone. */
export function sumOf(counts: Readonly<Record<string, number>>, { kinds, byAnyKind, status }: Wanted): number {
  let sum = 0;
  for (const [group, count] of Object.entries(counts)) {
    const cut = group.lastIndexOf(' ');
    if (status !== undefined && group.slice(cut + 1) !== status) continue;
    const [main = '', several] = group.slice(0, cut).split('/');
    const byMain = kinds.includes(main);
    if (several === undefined) sum += byMain ? count : 0;
    // They were counted by the main one already.
    else if (byAnyKind) sum += (Number(several.split(',').some((kind) => kinds.includes(kind))) - Number(byMain)) * count;
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
