// In charge of whether a store keeps what sync() builds on: for those who write their own. It uses the store up; give it one
// that is empty, and twice the same.
import { LeaseLost, SameIdTwice } from './src/sync-errors.ts';
import type { Kept, Row, Store } from './src/sync-store.ts';

/** open: a handle on the same place, as another process would have it. expire: what passing time does to a lease. Throws at what is not kept. */
export async function checkStore(open: () => Store, expire: () => unknown): Promise<void> {
  const [one, other] = [open(), open()];
  const long = 3_600_000;
  const record = (id: string, more: object = {}): Kept => ({ sourcedId: id, status: 'active', dateLastModified: '2026-09-01T08:00:00.000Z', ...more });
  const row = (id: string, kept: Kept | null, place = 1, collection = 'users'): Row => ({ collection, id, part: 'student', place, record: kept });
  const expect = async (what: string, found: unknown, wanted: unknown) => {
    const [is, should] = [canonical(await found), canonical(wanted)];
    if (is !== should) throw new Error(`${what}: ${is} instead of ${should}`);
  };
  const rejects = async (what: string, doing: Promise<unknown>, kind: typeof LeaseLost | typeof SameIdTwice) => {
    const error = await doing.then(() => undefined, (thrown: unknown) => thrown);
    if (!(error instanceof kind)) throw new Error(`${what}: ${String(error)} instead of ${kind.name}`);
  };

  await expect('a new store has neither copy nor run', one.open('a', long), { copy: null, run: null });
  const held = await other.open('b', long);
  if (!('heldUntil' in held) || !(held.heldUntil.getTime() > Date.now())) throw new Error('a lease keeps others out until it ends');
  await rejects('who has no lease stages nothing', other.stage('b', 'x', { rows: [row('1', record('1'))] }), LeaseLost);

  await one.stage('a', 'first', { rows: [row('1', record('1')), row('2', record('2', { name: "It's \\ \"2\" ü" }))] });
  await rejects('an id is staged once', one.stage('a', 'second', { rows: [row('3', record('3')), row('2', record('2'))] }), SameIdTwice);
  await rejects('also within a step', one.stage('a', 'second', { rows: [row('4', record('4')), row('4', record('4'))] }), SameIdTwice);
  await expect('what is staged is not in the copy', other.records('users'), []);
  await expect('nothing is left of a step that failed', one.compare(), [{ collection: 'users', part: 'student', had: 0, gone: 0, come: 2 }]);
  await one.close('a');
  await expect('staged rows and the run outlive their holder', other.open('b', long), { copy: null, run: 'first' });
  await rejects('a lease that was given back is gone', one.publish('a', 'copy', true), LeaseLost);
  await other.stage('b', 'third', { rows: [row('o', record('o'), 0, 'orgs')] });
  await expect('publishing counts', byCollection(await other.publish('b', 'copy 1', true)), [tally('orgs', 1, 0, 0), tally('users', 2, 0, 0)]);
  await expect('the copy', one.records('users'), [record('1'), record('2', { name: "It's \\ \"2\" ü" })]);

  const { upTo, changes } = await one.changes(2);
  await expect('changes come in their order, as many as are asked for', changes.map(({ id, before }) => [id, before]), [['o', null], ['1', null]]);
  await rejects('who has no lease settles nothing', one.told('a', upTo), LeaseLost);
  await other.told('b', upTo);
  await expect('what was told is not told again', one.changes(9).then((left) => left.changes.map(({ id }) => id)), ['2']);

  await other.stage('b', 'run 2', { clear: true, rows: [row('1', record('1')), row('3', record('3')), row('gone', null)] });
  await other.stage('b', 'run 2', { rest: { collection: 'users', place: 9 } });
  await expect('what would come and go', byCollection(await other.compare()), [
    { collection: 'orgs', part: 'student', had: 1, gone: 0, come: 0 },
    { collection: 'users', part: 'student', had: 2, gone: 1, come: 1 },
  ]);
  await other.stage('b', 'run 2', { clear: 'orgs' });
  await expire();
  await expect('a lease ends', one.open('c', long), { copy: 'copy 1', run: 'run 2' });
  await rejects('and with it what its holder may do', other.publish('b', 'copy 2', true), LeaseLost);
  await rejects('renewing included', other.renew('b'), LeaseLost);
  await other.close('b');
  await one.renew('c');
  await expect('only what differs counts', one.publish('c', 'copy 2', false), [tally('users', 1, 0, 1)]);
  await expect('as long as something is untold, what follows is kept', one.changes(9).then((all) => all.changes), [
    { collection: 'users', id: '2', before: null, after: record('2', { name: "It's \\ \"2\" ü" }) },
    { collection: 'users', id: '3', before: null, after: record('3') },
    { collection: 'users', id: '2', before: record('2', { name: "It's \\ \"2\" ü" }), after: null },
  ]);
  await one.told('c', (await one.changes(9)).upTo);
  await one.stage('c', null, { rows: [row('3', record('3', { name: 'changed' }))] });
  await expect('a change', one.publish('c', 'copy 3', false), [tally('users', 0, 1, 0)]);
  await expect('nothing is kept for nobody', one.changes(9).then((all) => all.changes), []);
  await one.close('c');
  await expect('after publishing there is no run', one.open('d', long), { copy: 'copy 3', run: null });
  await one.stage('d', null, { rows: Array.from({ length: 1000 }, (_, at) => row(`n${at}`, record(`n${at}`))) });
  await expect('many at once', one.publish('d', 'copy 4', true), [tally('users', 1000, 0, 0)]);
  await one.close('d');
}

const tally = (collection: string, added: number, changed: number, removed: number) => ({ collection, added, changed, removed });
const byCollection = <T extends { collection: string }>(all: T[]) => all.sort((a, b) => (a.collection < b.collection ? -1 : 1));

/** Some databases keep no order of keys. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}
