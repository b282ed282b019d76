// In charge of the figures of a whole list: its first read, out of the database; then out of its file, against the same file streamed by
// the same server, with the memory that it takes in a service of its own; and the compressed copy.
import { benchSecretKey, estab, ratio, runChild, type Bench, type Door } from './bench.ts';
import { list, untilListFile } from './roster.ts';
import { startService } from './service.ts';

const turns = 3;

type Read = { bytes: number; seconds: number; stated: boolean };

export async function benchWholeList(bench: Bench, total: number): Promise<void> {
  const first = await read(bench, list);
  bench.add('whole list for the first time', `${Math.round(total / first.seconds)} records a second (${first.seconds.toFixed(1)} s)`);

  bench.sendFile(await untilListFile(bench, estab));
  const rates = { list: [] as number[], file: [] as number[] };
  for (let turn = 0; turn < turns; turn += 1) {
    rates.file.push(rateOf(await read(bench, '/bench/file')));
    rates.list.push(rateOf(await read(bench, list)));
  }
  const [ours, bare] = [middle(rates.list), middle(rates.file)];
  const measured = `${ratio(ours / bare)} (${Math.round(ours)} of ${Math.round(bare)} MB a second)`;
  bench.judge('whole list from its file: share of the file streamed by the same server', ours / bare, measured, { bar: 0.6, goal: 0.9 });

  await benchMemory(bench);

  const compressed = await read(bench, list, 'gzip');
  const again = compressed.stated ? `, again ${(await read(bench, list, 'gzip')).seconds.toFixed(1)} s` : '';
  bench.add('whole list, gzip', `${megabytes(compressed.bytes)} of ${megabytes(first.bytes)} MB in ${compressed.seconds.toFixed(1)} s${again}`);
}

async function benchMemory(bench: Bench): Promise<void> {
  const settings = { DATABASE_URL: bench.databaseUrl, DATA_DIR: bench.folder, PUBLIC_URL: bench.url, SECRET_KEY: benchSecretKey, ROLE: 'api' };
  const service = await startService(settings);
  try {
    const door = { url: service.url, token: bench.token };
    for (let at = 0; at < 20; at += 1) await read(door, `${list}?limit=1000&offset=${at * 1000}`);
    service.forgetPeak();
    const before = service.memory();
    await read(door, list);
    const growth = service.memory().most - before.now;
    const name = 'whole list from its file: growth of memory, the reader in another process';
    bench.judge(name, growth, `${Math.round(growth)} MB, to ${Math.round(before.now + growth)}`, { bar: 40, goal: 20, atMost: true });
  } finally {
    await service.stop();
  }
}

async function read({ url, token }: Door, path: string, encoding = 'identity'): Promise<Read> {
  return JSON.parse(await runChild('read-list.ts', [url + path, token, encoding])) as Read;
}

const megabytes = (bytes: number) => Math.round(bytes / 1024 ** 2);
const rateOf = ({ bytes, seconds }: Read) => bytes / 1024 ** 2 / seconds;
const middle = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
