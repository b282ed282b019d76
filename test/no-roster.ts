// In charge of what a source is given in tests that read one without a roster: nobody is there yet, and nothing is too large for memory.
import type { Around } from '../src/collection/source.ts';

export const noRoster: Around = {
  live: {
    people: async () => new Map(),
    profiles: async () => new Map(),
    lists: async () => new Map(),
    holders: async () => [],
    orgTypes: async () => new Map(),
  },
  openSpool: () => Promise.reject(new Error('so much is not held in memory')),
};
