// In charge of the figures of OneRoster 1.2 beside 1.1: pages and whole lists of the same records, in turns, and the room that the second
// rendering takes. Users differ most, enrolments are most.
import { estab, get, ratio, type Bench } from './bench.ts';

const roots = { v1p1: '/ims/oneroster/v1p1', v1p2: '/ims/oneroster/rostering/v1p2' } as const;
type Edition = keyof typeof roots;
const turns = 101;

export async function benchEditions(bench: Bench): Promise<void> {
  const tokens = { v1p1: bench.token, v1p2: await bench.requestToken(`${roots.v1p2}/token`) };
  const sizes: Record<Edition, number> = { v1p1: 0, v1p2: 0 };
  const read = async (edition: Edition, path: string) => {
    const started = performance.now();
    const response = await get(bench, roots[edition] + path, tokens[edition]);
    sizes[edition] = 0;
    for await (const chunk of response.body ?? []) sizes[edition] += (chunk as Uint8Array).length;
    return performance.now() - started;
  };
  for (const collection of ['enrollments', 'users']) {
    const pages = await inTurns(turns, (edition, turn) => read(edition, `/${collection}?limit=100&first=e${turn}`));
    tell(bench, `page of 100 ${collection} in 1.2, first: time of 1.1`, pages, 1);
    const list = (edition: Edition) => read(edition, `/${collection}`);
    // The first makes the file.
    await inTurns(1, list);
    const lists = await inTurns(1, list);
    tell(bench, `whole list of ${collection} in 1.2: time of 1.1`, lists, sizes.v1p2 / sizes.v1p1);
  }
  for (const table of ['roster_user', 'roster_enrollment']) {
    const [size] = await bench.db<{ share: number }[]>`
      select sum(octet_length(coalesce(v1p2, '')))::float8 / sum(octet_length(record)) as share from ${bench.db(table)} where estab = ${estab}`;
    bench.add(`bytes of ${table} for 1.2 beside 1.1: share of those of 1.1`, ratio(size?.share ?? 0));
  }
}

/** The middle time of each edition; what is slow for a while is so for both. */
async function inTurns(times: number, run: (edition: Edition, turn: number) => Promise<number>): Promise<Record<Edition, number>> {
  const taken: Record<Edition, number[]> = { v1p1: [], v1p2: [] };
  for (let turn = 0; turn < times; turn += 1) for (const edition of ['v1p1', 'v1p2'] as const) taken[edition].push(await run(edition, turn));
  const middle = (list: number[]) => list.toSorted((a, b) => a - b)[Math.floor(times / 2)] ?? 0;
  return { v1p1: middle(taken.v1p1), v1p2: middle(taken.v1p2) };
}

function tell(bench: Bench, name: string, { v1p1, v1p2 }: Record<Edition, number>, bytes: number): void {
  const share = v1p2 / v1p1;
  bench.add(name, `${ratio(share)} (${v1p2.toFixed(2)} ms${bytes === 1 ? '' : `, ${ratio(bytes)} times the bytes`})`, '<= 1.1', share <= 1.1);
}
