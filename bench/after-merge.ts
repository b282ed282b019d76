// In charge of the figures of the first page after a merge of a few rows: against a page before it, also the only one of its moment.
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { estab, ratio, type Bench } from './bench.ts';
import { writeDelta } from './large-school.ts';
import { middle, openConnection } from './one-connection.ts';
import { importPackage, list, untilListFile } from './roster.ts';

const merges = 5;
const changed = 100;
const quietMs = 300;

type Triple = [number, number, number];

export async function benchAfterMerge(bench: Bench, total: number): Promise<void> {
  const folder = join(bench.folder, 'merged');
  const connection = openConnection();
  const first = `${list}?limit=100`;
  const anywhere = `${list}?limit=100&offset=__below:${total - 100}__`;
  const taken = { before: [] as number[], first: [] as number[], anywhere: [] as number[] };
  try {
    await untilListFile(bench, estab);
    await connection.ask(bench, anywhere, 300);
    for (let at = 0; at < merges; at += 1) {
      await pause(quietMs);
      taken.before.push(...(await connection.ask(bench, first, 1)));
      await writeDelta(folder, changed, `2027-06-${String(10 + at)}`);
      const { changed: merged } = await importPackage(bench, estab, folder);
      if (merged !== changed) throw new Error(`${merged} records changed`);
      taken.first.push(...(await connection.ask(bench, first, 1)));
      taken.anywhere.push(...(await connection.ask(bench, anywhere, 1)));
      await untilListFile(bench, estab);
    }
    const [before, after, deep] = [taken.before, taken.first, taken.anywhere].map((times) => middle(times.toSorted((a, b) => a - b))) as Triple;
    const measured = `${ratio(after / before)} (${after.toFixed(1)} of ${before.toFixed(1)} ms)`;
    bench.judge(`first page after a merge of ${changed} rows into ${total}: time of one before`, after / before, measured, { bar: 3, goal: 1.5, atMost: true });
    bench.add('page at a random offset in the same moment: time of one before', `${ratio(deep / before)} (${deep.toFixed(1)} ms)`);
  } finally {
    connection.close();
  }
}
