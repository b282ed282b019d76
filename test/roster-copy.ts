// In charge of copies that tests keep with the client's sync(): what they must equal, a consumer that only goes by what it is
// told, and ways to die in the middle.
import assert from 'node:assert/strict';
import { createClient } from '../client/src/index.ts';
import type { RosterChange } from '../client/src/sync.ts';
import type { Kept, Store } from '../client/src/sync-store.ts';
import type { Client } from './service.ts';

export const copied = ['orgs', 'academicSessions', 'courses', 'classes', 'users', 'demographics', 'enrollments'] as const;

export type Fetching = (url: string, init: RequestInit) => Promise<Response>;

/** The roster of one school, at the address of a process of the service. */
export function openRoster(url: string, client: Client, estab: string, fetching: Fetching = fetch) {
  return createClient({ url, rp: client.rp, fetch: fetching }).school({ estab, secret: client.schoolSecrets[estab] ?? '' }).roster;
}

/** Those of every school of an application. */
export function openRosters(url: string, client: Client, fetching: Fetching = fetch) {
  return createClient({ url, rp: client.rp, fetch: fetching }).roster({ clientId: client.clientId, clientSecret: client.clientSecret });
}

type Records = Record<string, Kept[]>;
const byId = (records: Kept[]) => records.sort((a, b) => (a.sourcedId < b.sourcedId ? -1 : 1));

/** Every active record that the school grants, asked for without the client. */
export async function readActive(read: (path: string) => Promise<Response>): Promise<Records> {
  const all: Records = {};
  for (const collection of copied) {
    const response = await read(`/${collection}?filter=${encodeURIComponent("status='active'")}`);
    assert.ok([200, 403, 404].includes(response.status), `${collection}: ${response.status}`);
    const found = response.status === 200 ? ((await response.json()) as Record<string, Kept[]>)[collection] : [];
    // Variant A ignores the filter on enrollments.
    all[collection] = byId((found ?? []).filter(({ status }) => status === 'active'));
  }
  return all;
}

export async function readCopy(store: Pick<Store, 'records'>): Promise<Records> {
  const all: Records = {};
  for (const collection of copied) all[collection] = await store.records(collection);
  return all;
}

/** Goes by what it is told alone: the same list of changes once more makes no difference. */
export function createListener(known: readonly RosterChange[] = []) {
  const told = [...known];
  return {
    told,
    onChange(changes: readonly RosterChange[]) {
      told.push(...structuredClone(changes));
    },
    /** What it has then. */
    replayed(): Records {
      const all = Object.fromEntries(copied.map((collection) => [collection, new Map<string, Kept>()]));
      for (const { collection, id, after } of told) {
        if (after) all[collection]?.set(id, after);
        else all[collection]?.delete(id);
      }
      return Object.fromEntries(Object.entries(all).map(([collection, records]) => [collection, byId([...records.values()])]));
    },
  };
}

export class Died extends Error {}

/** Counts the steps that are taken, and from the one that is named on everything fails, as if the process were gone. */
export function createFate(at: number) {
  let steps = 0;
  return {
    steps: () => steps,
    step(): void {
      steps += 1;
      if (steps >= at) throw new Died();
    },
  };
}
export type Fate = ReturnType<typeof createFate>;

/** Answers of fixed versions are the same each time: a test that dies at every step asks for them once. */
export function rememberAnswers(): { fetching: Fetching; forget(): void } {
  const answers = new Map<string, Response>();
  return {
    async fetching(url, init) {
      const key = `${url} ${new Headers(init.headers).get('if-roster-version')}`;
      const answer = answers.get(key) ?? (await fetch(url, init));
      answers.set(key, answer);
      return answer.clone();
    },
    forget: () => answers.clear(),
  };
}
