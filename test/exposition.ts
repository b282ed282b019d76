// In charge of reading metrics in tests as Prometheus does: families with their type and series, each line held to the format.
import assert from 'node:assert/strict';

export type Series = { name: string; labels: Record<string, string>; value: number };
export type Family = { type: string; help: string; series: Series[] };

const lineRule = /^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/;
const labelRule = /([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"/g;

export function readExposition(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  let current: [string, Family] | undefined;
  for (const line of text.trimEnd().split('\n')) {
    const [, help, about] = /^# HELP ([a-z_]+) (.+)$/.exec(line) ?? [];
    const [, typed, type] = /^# TYPE ([a-z_]+) (gauge|counter|histogram)$/.exec(line) ?? [];
    if (help !== undefined) {
      assert.equal(families.has(help), false, `${help} is told twice`);
      current = [help, { type: '', help: about ?? '', series: [] }];
      families.set(...current);
    } else if (typed !== undefined) {
      assert.equal(current?.[0], typed);
      if (current) current[1].type = type ?? '';
    } else {
      const [, name = '', labels = '', value = ''] = lineRule.exec(line) ?? assert.fail(`not a line of metrics: ${line}`);
      assert.ok(current && name.startsWith(current[0]), line);
      const pairs = [...labels.matchAll(labelRule)].map(([, label, said]) => [label ?? '', said ?? '']);
      current[1].series.push({ name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) });
    }
  }
  for (const [name, family] of families) requireSound(name, family);
  return families;
}

function requireSound(name: string, { type, series }: Family): void {
  assert.equal(name.endsWith('_total'), type === 'counter', `${name} is a ${type}`);
  const keys = series.map((one) => JSON.stringify([one.name, one.labels]));
  assert.equal(new Set(keys).size, keys.length, `${name} has a series twice`);
  const suffixes = type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
  for (const one of series) assert.ok(suffixes.includes(one.name.slice(name.length)), one.name);
  if (type !== 'histogram') return;
  const withoutBound = ({ labels }: Series) => JSON.stringify({ ...labels, le: undefined });
  for (const [labels, all] of Map.groupBy(series, withoutBound)) {
    const buckets = all.filter((one) => one.name.endsWith('_bucket'));
    const bounds = buckets.map(({ labels: { le = '' } }) => (le === '+Inf' ? Infinity : Number(le)));
    assert.deepEqual(bounds, bounds.toSorted((a, b) => a - b));
    assert.equal(bounds.at(-1), Infinity);
    for (const [at, { value }] of buckets.entries()) assert.ok(value >= (buckets[at - 1]?.value ?? 0), `${name} ${labels} falls`);
    assert.equal(all.find((one) => one.name.endsWith('_count'))?.value, buckets.at(-1)?.value);
  }
}

/** The value of the one series with these labels. */
export function valueOf(families: ReadonlyMap<string, Family>, name: string, labels: Record<string, string> = {}): number | undefined {
  const found = [...families.values()]
    .flatMap(({ series }) => series)
    .filter((one) => one.name === name && Object.entries(labels).every(([label, text]) => one.labels[label] === text));
  assert.ok(found.length <= 1, `${found.length} series of ${name}`);
  return found[0]?.value;
}
