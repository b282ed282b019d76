// In charge of the figures of the first page after a merge of a few rows: against a page before it.
import { join } from 'node:path';
import { estab, ratio, type Bench } from './bench.ts';
import { writeDelta } from './large-school.ts';
import { middle, openConnection } from './one-connection.ts';
import { importPackage, list, untilListFile } from './roster.ts';

const merges = 5;
const changed = 100;

export async function benchAfterMerge(bench: Bench, total: number): Promise<void> {
  const folder = join(bench.folder, 'merged');
  const connection = openConnection();
  const first = `${list}?limit=100`;
  const anywhere = `${list}?limit=100&offset=__below:${total - 100}__`;
  const taken = { first: [] as number[], anywhere: [] as number[] };
  try {
    await untilListFile(bench, estab);
    await connection.ask(bench, anywhere, 300);
    const before = middle(await connection.ask(bench, first, 200));
    for (let at = 0; at < merges; at += 1) {
      await writeDelta(folder, changed, `2027-06-${String(10 + at)}`);
      const { changed: merged } = await importPackage(bench, estab, folder);
      if (merged !== changed) throw new Error(`${merged} records changed`);
      taken.first.push(...(await connection.ask(bench, first, 1)));
      taken.anywhere.push(...(await connection.ask(bench, anywhere, 1)));
      await untilListFile(bench, estab);
    }
    const after = middle(taken.first.toSorted((a, b) => a - b));
    const deep = middle(taken.anywhere.toSorted((a, b) => a - b));
    const measured = `${ratio(after / before)} (${after.toFixed(1)} of ${before.toFixed(1)} ms)`;
    bench.judge(`first page after a merge of ${changed} rows into ${total}: time of one before`, after / before, measured, { bar: 3, goal: 1.5, atMost: true });
    bench.add('page at a random offset in the same moment: time of one before', `${ratio(deep / before)} (${deep.toFixed(1)} ms)`);
  } finally {
    connection.close();
  }
}
