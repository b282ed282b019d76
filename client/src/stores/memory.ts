// In charge of a copy in memory: for tests, scripts and small caches. It ends with its process.
import { LeaseLost, SameIdTwice } from '../sync-errors.ts';
import type { Change, Kept, Row, Store } from '../sync-store.ts';

const keyOf = ({ collection, id }: { collection: string; id: string }) => `${collection}\0${id}`;
const inOrder = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

export function memoryStore({ now = Date.now }: { now?: () => number } = {}): Store {
  const kept = new Map<string, Row & { record: Kept }>();
  let staged = new Map<string, Row>();
  let outbox: Change[] = [];
  let first = 1;
  let state: { copy: string | null; run: string | null } = { copy: null, run: null };
  let lease: { holder: string; until: number; ms: number } | undefined;

  function fence(holder: string): void {
    if (lease?.holder !== holder) throw new LeaseLost();
    lease.until = now() + lease.ms;
  }
  const differing = () =>
    [...staged.values()]
      .map((row) => ({ row, before: kept.get(keyOf(row))?.record ?? null }))
      .filter(({ row, before }) => JSON.stringify(row.record) !== JSON.stringify(before))
      .sort((a, b) => a.row.place - b.row.place || inOrder(a.row.collection, b.row.collection) || inOrder(a.row.id, b.row.id));

  return {
    async open(holder, ms) {
      if (lease && lease.until >= now()) return { heldUntil: new Date(lease.until) };
      lease = { holder, until: now() + ms, ms };
      return { ...state };
    },
    renew: async (holder) => fence(holder),
    async stage(holder, run, { clear, rows = [], rest }) {
      fence(holder);
      const next = clear === undefined ? staged : new Map([...staged].filter(([, row]) => clear !== true && row.collection !== clear));
      const fresh = new Map<string, Row>();
      for (const row of rows) {
        const key = keyOf(row);
        if (next.has(key) || fresh.has(key)) throw new SameIdTwice(row.collection, row.id);
        fresh.set(key, structuredClone(row));
      }
      for (const [key, row] of fresh) next.set(key, row);
      staged = next;
      for (const [key, row] of kept) if (row.collection === rest?.collection && !staged.has(key)) staged.set(key, { ...row, place: rest.place, record: null });
      state = { ...state, run };
    },
    async compare() {
      const parts = new Map<string, { collection: string; part: string; had: number; gone: number; come: number }>();
      const count = ({ collection, part }: Row, what: 'had' | 'gone' | 'come') => {
        const key = keyOf({ collection, id: part });
        const counts = parts.get(key) ?? { collection, part, had: 0, gone: 0, come: 0 };
        counts[what] += 1;
        parts.set(key, counts);
      };
      for (const row of kept.values()) count(row, 'had');
      for (const [key, row] of staged) {
        const before = kept.get(key);
        if (before && !row.record) count(before, 'gone');
        if (!before && row.record) count(row, 'come');
      }
      return [...parts.values()];
    },
    async publish(holder, copy, keep) {
      fence(holder);
      const tallies = new Map<string, { collection: string; added: number; changed: number; removed: number }>();
      const changes: Change[] = [];
      for (const { row, before } of differing()) {
        const { collection, id, record } = row;
        const tally = tallies.get(collection) ?? { collection, added: 0, changed: 0, removed: 0 };
        tally[before ? (record ? 'changed' : 'removed') : 'added'] += 1;
        tallies.set(collection, tally);
        changes.push({ collection, id, before, after: record });
        if (record) kept.set(keyOf(row), { ...row, record });
        else kept.delete(keyOf(row));
      }
      // Not as arguments, of which there cannot be a million.
      if (keep || outbox.length > 0) outbox = outbox.concat(changes);
      staged = new Map();
      state = { copy, run: null };
      return [...tallies.values()];
    },
    changes: async (most) => {
      const changes = outbox.slice(0, most);
      return structuredClone({ upTo: first + changes.length - 1, changes });
    },
    async told(holder, upTo) {
      fence(holder);
      outbox = outbox.slice(upTo - first + 1);
      first = upTo + 1;
    },
    async close(holder) {
      if (lease?.holder === holder) lease = undefined;
    },
    records: async (collection) =>
      [...kept.values()].filter((row) => row.collection === collection).sort((a, b) => inOrder(a.id, b.id)).map((row) => structuredClone(row.record)),
  };
}
