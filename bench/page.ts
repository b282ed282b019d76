// In charge of the figure of a page at an offset that nobody asked for before: against as many bytes sent constant by the same server.
import { estab, get, load, ratio, type Bench } from './bench.ts';
import { list, untilListFile } from './roster.ts';

export async function benchPages(bench: Bench, total: number): Promise<void> {
  bench.sendConstant(Buffer.from(await (await get(bench, `${list}?limit=100`)).arrayBuffer()));
  await untilListFile(bench, estab);
  const path = `${list}?limit=100&offset=__below:${total - 100}__`;
  await load(bench, path, 2);
  const constant = await load(bench, '/bench/constant');
  const pages = await load(bench, path);
  const share = pages / constant;
  const rates = `${Math.round(pages)} of ${Math.round(constant)} a second`;
  bench.judge('page of 100 at a random offset: share of constant bytes', share, `${ratio(share)} (${rates})`, { bar: 0.45, goal: 0.7 });
}
