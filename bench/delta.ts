// In charge of the figures of whoever reads what changed: the filter at an instant that nobody asked for before, against pages from a file.
import { join } from 'node:path';
import { estab, get, load, ratio, type Bench } from './bench.ts';
import { writeDelta } from './large-school.ts';
import { middle, openConnection } from './one-connection.ts';
import { importPackage, list, untilListFile } from './roster.ts';

/** Asked for over one connection, and over many. */
const hits = { few: 100, many: 1_000 };

export async function benchDelta(bench: Bench, total: number): Promise<void> {
  const since = new Date().toISOString();
  const delta = join(bench.folder, 'delta');
  await writeDelta(delta, hits.few, '2027-05-01');
  await importPackage(bench, estab, delta);
  await untilListFile(bench, estab);
  const changed = changedAfter(since);
  const anywhere = `${list}?limit=100&offset=__below:${total - 100}__`;
  await requireHits(bench, changed, hits.few);
  const connection = openConnection();
  try {
    await connection.ask(bench, anywhere, 100);
    await connection.ask(bench, changed, 100);
    const plainMs = middle(await connection.ask(bench, anywhere, 300));
    const deltaMs = middle(await connection.ask(bench, changed, 300));
    const measured = `${ratio(deltaMs / plainMs)} (${deltaMs.toFixed(2)} of ${plainMs.toFixed(2)} ms)`;
    const name = `filter by dateLastModified, ${hits.few} of ${total}, one connection: time of a page from a file`;
    bench.judge(name, deltaMs / plainMs, measured, { bar: 3, goal: 1.5, atMost: true });
  } finally {
    connection.close();
  }

  await writeDelta(delta, hits.many, '2027-05-02');
  await importPackage(bench, estab, delta);
  await untilListFile(bench, estab);
  await requireHits(bench, changed, hits.many);
  await load(bench, changed, 2);
  const pages = await load(bench, anywhere);
  const deltas = await load(bench, changed);
  const share = deltas / pages;
  const name = `filter by dateLastModified, ${hits.many} of ${total}, 16 connections: share of pages from a file`;
  bench.judge(name, share, `${ratio(share)} (${Math.round(deltas)} of ${Math.round(pages)} a second)`, { bar: 0.3, goal: 0.6 });
}

/** Fractions of a millisecond that are others each time: the same answer, in other words. */
function changedAfter(instant: string): string {
  const [before, behind] = [`dateLastModified>'${instant.replace('Z', '')}`, `Z'`].map(encodeURIComponent);
  return `${list}?limit=100&filter=${before}__below:1000000000000__${behind}`;
}

async function requireHits(bench: Bench, path: string, wanted: number): Promise<void> {
  const found = (await get(bench, path.replace(/__below:\d+__/, '0'))).headers.get('x-total-count');
  if (found !== String(wanted)) throw new Error(`${found} records changed instead of ${wanted}`);
}
