// In charge of the figures of pages out of the database, where lists have no files: deep ones, and those of an earlier version.
import { join } from 'node:path';
import { estab, get, ratio, type Bench } from './bench.ts';
import { writeDelta } from './large-school.ts';
import { middle, openConnection } from './one-connection.ts';
import { importPackage, list } from './roster.ts';

const times = 101;

export async function benchWithoutFiles(bench: Bench, total: number): Promise<void> {
  const earlier = (await get(bench, `${list}?limit=1`)).headers.get('x-roster-version') ?? '';
  const folder = join(bench.folder, 'replaced');
  await writeDelta(folder, 100, '2027-04-30');
  await importPackage(bench, estab, folder);
  const beside = await bench.openApp({ LIST_CACHE_MB: '0' });
  const door = { url: beside.url, token: bench.token };
  const connection = openConnection();
  const deep = Math.floor(total * 0.99);
  const at = async (query: string) => middle(await connection.ask(door, `${list}?limit=100&${query}`, times));
  try {
    await at(`offset=${deep}`);
    const shallowMs = await at('offset=0');
    const deepMs = await at(`offset=${deep}`);
    const share = deepMs / shallowMs;
    const name = `without a file, page at offset ${deep}: time of offset 0`;
    bench.judge(name, share, `${ratio(share)} (${deepMs.toFixed(2)} ms)`, { bar: 5, goal: 1.5, atMost: true });
    const pinned = `rosterVersion=${earlier}`;
    if ((await get(door, `${list}?limit=1&${pinned}`)).headers.get('x-roster-version') !== earlier) throw new Error('the earlier version is not kept');
    await at(pinned);
    const pinnedMs = await at(pinned);
    const plainMs = await at('offset=0');
    const pinnedShare = pinnedMs / plainMs;
    const measured = `${ratio(pinnedShare)} (${pinnedMs.toFixed(2)} ms)`;
    bench.add('without a file, page of an earlier version: time of a page', measured, '<= 2', pinnedShare <= 2);
  } finally {
    connection.close();
    await beside.close();
  }
}
