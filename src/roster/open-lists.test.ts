// List files that are open in a process: no more of them, and no more of their indexes, than there is room for; those that were used last
// stay, and whoever reads one has it to the end.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { setImmediate as pause } from 'node:timers/promises';
import type { ListFile } from './list-file.ts';
import { createOpenLists, type Held, type OpenLists } from './open-lists.ts';

const mebibyte = 1024 ** 2;
/** By name, how often each was opened; and those that are open. */
let openings: Map<string, number>;
let open: Set<string>;
let touched: string[];
let clock: number;
beforeEach(() => {
  openings = new Map();
  open = new Set();
  touched = [];
  clock = Date.now();
});

function createLists(indexBytes = 4): OpenLists {
  return createOpenLists({
    async open(name) {
      openings.set(name, (openings.get(name) ?? 0) + 1);
      await pause();
      if (name === 'none') return undefined;
      assert.ok(!open.has(name), 'it is opened once');
      open.add(name);
      const handle = { close: async () => void open.delete(name), stat: async () => ({ nlink: 1 }) };
      return { handle, starts: new Uint32Array(indexBytes / 4) } as unknown as ListFile;
    },
    touch: (name) => touched.push(name),
    now: () => clock,
  });
}

async function use(lists: OpenLists, name: string): Promise<void> {
  const held = await lists.hold(name);
  held?.release();
  await pause();
}

const names = (count: number) => Array.from({ length: count }, (_, at) => `list${at}`);

test('of more files than may be open those that were used last stay, and the others are opened again', async () => {
  const lists = createLists();
  for (const name of names(1024)) await use(lists, name);
  assert.equal(open.size, 1024);
  await use(lists, 'list0');
  for (const name of ['another', 'and another']) await use(lists, name);
  assert.equal(open.size, 1024);
  assert.deepEqual(['list0', 'list1', 'list2', 'list3'].map((name) => open.has(name)), [true, false, false, true]);
  await use(lists, 'list1');
  assert.deepEqual(['list0', 'list1', 'list3'].map((name) => openings.get(name)), [1, 2, 1]);
  await lists.letGoAll();
  assert.equal(open.size, 0);
});

test('all at once, as many are asked for as may not be open: each is had, and in the end no more stay open than may', async () => {
  const lists = createLists();
  const held = await Promise.all(names(1500).map((name) => lists.hold(name)));
  assert.ok(held.every((one) => one !== undefined));
  assert.equal(open.size, 1500, 'whoever reads one has it');
  for (const one of held) one?.release();
  await pause();
  assert.ok(open.size <= 1024, `${open.size}`);
});

test('large indexes let fewer stay open, and one alone always', async () => {
  const lists = createLists(5 * mebibyte);
  for (const name of names(10)) await use(lists, name);
  assert.deepEqual([...open], names(10).slice(-4), 'four have 20 MB, five would have 25');
  const huge = createLists(30 * mebibyte);
  for (const name of ['x', 'y', 'y']) await use(huge, name);
  assert.deepEqual([open.has('x'), open.has('y'), openings.get('y')], [false, true, 1]);
});

test('one that had to go is closed when its last reader gives it back, and is another for whoever comes meanwhile', async () => {
  const lists = createLists(20 * mebibyte);
  const first = (await lists.hold('first')) as Held;
  const second = (await lists.hold('first')) as Held;
  await use(lists, 'other');
  assert.ok(open.has('first'));
  first.release();
  first.release();
  assert.ok(open.has('first'), 'released twice is once');
  second.release();
  assert.ok(!open.has('first'));
  await use(lists, 'first');
  assert.equal(openings.get('first'), 2);
});

test('a file that is not there is looked for every time, and one that is used is touched once a minute', async () => {
  const lists = createLists();
  for (let time = 0; time < 3; time += 1) assert.equal(await lists.hold('none'), undefined);
  assert.equal(openings.get('none'), 3);
  for (let time = 0; time < 3; time += 1) await use(lists, 'one');
  assert.deepEqual(touched, ['one']);
  clock += 60_000;
  await use(lists, 'one');
  assert.deepEqual(touched, ['one', 'one']);
});
