// In charge of the figures of pages: against the same bytes sent constant by the same server, deep offsets, and the
// filter of a delta reader. `first` is a page that nobody asked for before; `again` is one that is remembered.
import { openCsvSource } from '../src/collection/connectors/csv/csv-source.ts';
import { openPackage } from '../src/collection/connectors/csv/package.ts';
import { importRoster } from '../src/collection/import.ts';
import { estab, get, load, medianMs, ratio, type Bench } from './bench.ts';

const list = '/ims/oneroster/v1p1/enrollments';

export async function benchPages(bench: Bench, deltaFolder: string, total: number): Promise<void> {
  const page = await (await get(bench, `${list}?limit=100`)).text();
  await fetch(`${bench.url}/bench/constant`, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: page });
  await load(bench, `${list}?limit=100&first=__n__`, 3);
  const constant = await load(bench, '/bench/constant');
  const first = await load(bench, `${list}?limit=100&first=__n__`);
  const again = await load(bench, `${list}?limit=100`);
  bench.add('constant bytes, requests a second', `${Math.round(constant)} of ${page.length} bytes`);
  bench.add(
    'page of 100 with total, first: share of constant',
    `${ratio(first / constant)} (${Math.round(first)} a second)`,
    '>= 0.15',
    first / constant >= 0.15,
  );
  bench.add(
    'page of 100 with total, again: share of constant',
    `${ratio(again / constant)} (${Math.round(again)} a second)`,
    '>= 0.15',
    again / constant >= 0.15,
  );

  const deep = Math.floor(total * 0.99);
  const at = (offset: number) =>
    medianMs((n) => get(bench, `${list}?limit=100&offset=${offset}&first=${offset}.${n}`).then((response) => response.text()), 101);
  await at(deep);
  const shallowMs = await at(0);
  const deepMs = await at(deep);
  bench.add(`page at offset ${deep}: time of offset 0`, `${ratio(deepMs / shallowMs)} (${deepMs.toFixed(2)} ms)`, '<= 1.5', deepMs / shallowMs <= 1.5);

  const before = new Date().toISOString();
  const earlier = (await get(bench, `${list}?limit=1`)).headers.get('x-roster-version') ?? '';
  const report = await importRoster(bench.db, async () => openCsvSource(await openPackage(deltaFolder)), {
    estab,
    dataDir: bench.folder,
    partial: false,
    force: false,
    shrinkLimitPercent: 20,
  });
  const filter = encodeURIComponent(`dateLastModified>'${before}'`);
  const matched = (await get(bench, `${list}?limit=100&filter=${filter}`)).headers.get('x-total-count');
  const deltaMs = await medianMs((n) => get(bench, `${list}?limit=100&filter=${filter}&first=d${n}`).then((response) => response.text()), 101);
  const plainMs = await at(0);
  bench.add(
    `filter by dateLastModified, ${matched} of ${total} (${report.changed} changed): time of a page`,
    `${ratio(deltaMs / plainMs)} (${deltaMs.toFixed(2)} ms)`,
    '<= 2',
    deltaMs / plainMs <= 2,
  );
  const pinnedMs = await medianMs(
    (n) => get(bench, `${list}?limit=100&rosterVersion=${earlier}&first=p${n}`).then((response) => response.text()),
    101,
  );
  bench.add('page of an earlier version: time of a page', `${ratio(pinnedMs / plainMs)} (${pinnedMs.toFixed(2)} ms)`, '<= 2', pinnedMs / plainMs <= 2);
}
