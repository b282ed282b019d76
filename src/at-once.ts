// In charge of doing the same for many, a few at a time. Gives what came of each, in their order; after a failure, or when it is over, nothing more
// is begun, and what was under way has ended before anybody is told: it may hold connections.

export async function atOnce<T, R>(most: number, all: readonly T[], work: (one: T, at: number) => Promise<R>, over?: AbortSignal): Promise<R[]> {
  const done: R[] = [];
  let failure: { error: unknown } | undefined;
  let next = 0;
  const walk = async () => {
    while (next < all.length && !failure) {
      const at = next;
      next += 1;
      try {
        over?.throwIfAborted();
        done[at] = await work(all[at] as T, at);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, all.length) }, walk));
  if (failure) throw failure.error;
  return done;
}
