// In charge of where a page of a long list ends: one row more than is shown was asked for, so that it is known whether it goes on.

/** last: of those that are shown, if there are more; its key is where the next page begins. */
export function cutPage<T>(found: readonly T[], most: number | undefined): { shown: T[]; last: T | undefined } {
  const shown = found.slice(0, most);
  return { shown, last: found.length > shown.length ? shown.at(-1) : undefined };
}
