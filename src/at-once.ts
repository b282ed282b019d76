// In charge of doing the same for many, a few at a time. Gives what came of each, in their order; after a failure nothing more is begun.

export async function atOnce<T, R>(most: number, all: readonly T[], work: (one: T, at: number) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  let next = 0;
  const walk = async () => {
    while (next < all.length) {
      const at = next;
      next += 1;
      try {
        done[at] = await work(all[at] as T, at);
      } catch (error) {
        next = all.length;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, all.length) }, walk));
  return done;
}
