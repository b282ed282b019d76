// In charge of milestones: every thousandth key of a collection with how many records of each kind and status precede it,
// so that a deep offset is a seek.

/** Groups are named by kind and status, joined by a blank. */
export type Milestone = { sourcedId: string; preceding: Readonly<Record<string, number>> };

/** How many records of these groups there are, or precede a milestone. */
export function sumOf(counts: Readonly<Record<string, number>>, kinds: readonly string[], status: string | undefined): number {
  let sum = 0;
  for (const [group, count] of Object.entries(counts)) {
    const cut = group.lastIndexOf(' ');
    if (kinds.includes(group.slice(0, cut)) && (status === undefined || group.slice(cut + 1) === status)) sum += count;
  }
  return sum;
}

/** The last milestone that at most `offset` of these records precede. */
export function findMilestone(
  milestones: readonly Milestone[],
  kinds: readonly string[],
  status: string | undefined,
  offset: number,
): { sourcedId: string; preceding: number } | undefined {
  let [low, high] = [0, milestones.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sumOf(milestones[middle]?.preceding ?? {}, kinds, status) <= offset) low = middle + 1;
    else high = middle;
  }
  const milestone = milestones[low - 1];
  return milestone && { sourcedId: milestone.sourcedId, preceding: sumOf(milestone.preceding, kinds, status) };
}
