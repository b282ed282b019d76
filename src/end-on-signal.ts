// In charge of ending by a signal: the first ends what is under way cleanly, as do those that come with it; a later one ends the process at once.

/** npm hands a terminal's signal on, so that it comes twice; signals this close together are one. */
const sameSignalMs = 2_000;
/** Whatever is under way: what was not finished by then is repeated later, by whoever runs then. */
const longestEndMs = 29_000;
const signals = ['SIGTERM', 'SIGINT'] as const;

export type EndSignal = (typeof signals)[number];
/** signal: aborted by the first, with which `ended` comes and says which it was. leave: from then on signals do what they do by themselves. */
export type Ending = Readonly<{ signal: AbortSignal; ended: Promise<EndSignal>; leave(): void }>;

export function endOnSignal(): Ending {
  const stopping = new AbortController();
  const { promise: ended, resolve } = Promise.withResolvers<EndSignal>();
  let first: number | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    first ??= performance.now();
    if (performance.now() - first > sameSignalMs) process.exit(1);
    setTimeout(() => process.exit(1), longestEndMs).unref();
    stopping.abort();
    resolve(signal as EndSignal);
  };
  for (const signal of signals) process.on(signal, onSignal);
  return {
    signal: stopping.signal,
    ended,
    leave: () => {
      for (const signal of signals) process.off(signal, onSignal);
    },
  };
}
