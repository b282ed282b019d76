// In charge of the figures of the console: every page of its table, with 1,000 schools and 1,000,000 deliveries, each asked
// for again and again by one operator. A page for which there is no example is a figure that is missed.
import { createSeal } from '../src/access/seal.ts';
import { pages } from '../src/console/routes.ts';
import { inboxUrl } from '../src/notifications/inbox/address.ts';
import { addInbox } from '../src/notifications/inbox/inboxes.ts';
import { inboxLimits } from '../src/notifications/inbox/receive.ts';
import { openSession } from '../src/operators/sessions.ts';
import { benchSecretKey, estab, type Bench } from './bench.ts';
import { busy, fillConsole, sizes } from './console-data.ts';

const times = 15;
const goal = { medianMs: 100, worstMs: 300 } as const;

/** Values of the parameters in a path, of the first beginning that fits. */
type Examples = readonly { under: string; values: Readonly<Record<string, string>> }[];

/** What people narrow lists down by, beside the lists as they are. */
const queries: Readonly<Record<string, readonly string[]>> = {
  '/console/schools': ['?q=school+77', '?state=failing', '?source=csv'],
  '/console/schools/:estab/roster': ['?q=an', '?q=smith&kind=student'],
  '/console/applications': ['?q=application+7'],
  '/console/applications/:rp/requests': ['?status=failed', '?status=refused'],
  '/console/deliveries': [`?rp=${busy.rp}`, `?estab=${busy.estab}&state=failed`, '?state=failed', '?kind=database&state=waiting'],
  '/console/targets': ['?state=failing', '?state=disabled'],
  '/console/work': ['?state=failed', '?kind=mail&state=waiting'],
  '/console/audit': [`?estab=${busy.estab}`, '?actor=admin'],
};

export async function benchConsole(bench: Bench): Promise<void> {
  const started = performance.now();
  await fillConsole(bench.db);
  console.log(`${sizes.schools} schools and ${sizes.deliveries} deliveries made in ${Math.round((performance.now() - started) / 1000)} s`);
  const cookie = await signIn(bench);
  const examples = await findExamples(bench);
  for (const { path } of pages) {
    const filled = fill(path, examples);
    if (typeof filled !== 'string') {
      bench.add(`console ${path}`, `no example for ${filled.missing}`, 'an example', false);
      continue;
    }
    for (const query of ['', ...(queries[path] ?? [])]) await measure(bench, `${path}${query}`, `${filled}${query}`, cookie);
  }
}

async function signIn({ db, url }: Bench): Promise<string> {
  const [account] = await db<{ id: string }[]>`
    insert into console_account (sign_in_name, name, role, created_by) values ('bench', 'Bench', 'admin', 'bench') returning id`;
  const { cookie } = await db.begin((tx) => openSession(tx, account?.id ?? '', { address: '127.0.0.1', publicUrl: url, shown: true }));
  return cookie.split(';', 1)[0] ?? '';
}

/** As full as it can be. */
async function fillInbox({ db, url }: Bench): Promise<Record<string, string>> {
  const { id, key } = await addInbox(db, createSeal([benchSecretKey]), { rp: busy.rp, name: 'Full', answer: '200' });
  for (let at = 0; at < inboxLimits.keptCalls; at += 1) await fetch(inboxUrl(url, key), { method: 'POST', body: 'x'.repeat(inboxLimits.keptBytes) });
  const [last] = await db<{ seq: string }[]>`select max(seq)::text as seq from inbox_call where inbox = ${id}`;
  return { rp: busy.rp, id, seq: last?.seq ?? 'none' };
}

async function findExamples(bench: Bench): Promise<Examples> {
  const { db } = bench;
  const one = async (rows: PromiseLike<Record<string, unknown>[]>) => String((await rows)[0]?.id ?? 'none');
  const mail = 'console_mail_500';
  return [
    {
      under: '/console/schools/:estab/imports',
      values: { estab, id: await one(db`select id from import_run where estab = ${estab} order by started_at desc limit 1`) },
    },
    {
      under: '/console/schools/:estab/roster',
      values: { estab, collection: 'users', id: await one(db`select sourced_id as id from roster_user where estab = ${estab} order by 1 limit 1`) },
    },
    { under: '/console/schools', values: busy },
    { under: '/console/applications/:rp/deliveries', values: { rp: busy.rp, id: await one(db`select id from outbox where rp = ${busy.rp} limit 1`) } },
    {
      under: '/console/applications/:rp/targets',
      values: { rp: busy.rp, id: await one(db`select id from webhook where estab = ${busy.estab} and rp = ${busy.rp}`) },
    },
    { under: '/console/applications/:rp/inboxes/:id', values: await fillInbox(bench) },
    { under: '/console/applications', values: { rp: busy.rp, kind: 'client' } },
    { under: '/console/deliveries', values: { id: 'console_100' } },
    { under: '/console/targets', values: { id: await one(db`select id from webhook where estab = ${busy.estab} and rp = ${busy.rp}`) } },
    { under: '/console/mail', values: { id: mail } },
    { under: '/console/work', values: { id: mail } },
    { under: '/console/operators', values: { name: 'bench' } },
    { under: '/console', values: {} },
  ];
}

function fill(path: string, examples: Examples): string | { missing: string } {
  const values = examples.find(({ under }) => path === under || path.startsWith(`${under}/`))?.values ?? {};
  const missing = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name).find((name) => values[name] === undefined);
  if (missing !== undefined) return { missing };
  return path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
}

async function measure(bench: Bench, name: string, path: string, cookie: string): Promise<void> {
  const taken: number[] = [];
  let answered = { status: 0, bytes: 0 };
  for (let at = 0; at < times; at += 1) {
    const begun = performance.now();
    const response = await fetch(bench.url + path, { redirect: 'manual', headers: { accept: 'text/html', cookie } });
    const bytes = (await response.arrayBuffer()).byteLength;
    taken.push(performance.now() - begun);
    answered = { status: response.status, bytes };
  }
  const sorted = taken.toSorted((one, other) => one - other);
  const [best, median, worst] = [sorted[0] ?? 0, sorted[Math.floor(times / 2)] ?? 0, sorted.at(-1) ?? 0];
  // A file is all there is, and takes as long as that.
  if (/[./]csv$/.test(path)) {
    bench.add(`console ${name}`, `median ${median.toFixed(1)} ms for ${Math.ceil(answered.bytes / 1024)} kB (${answered.status})`);
    return;
  }
  bench.add(
    `console ${name}`,
    `median ${median.toFixed(1)} ms, worst ${worst.toFixed(1)} ms (best ${best.toFixed(1)}; ${answered.status}, ${Math.ceil(answered.bytes / 1024)} kB)`,
    `200 in ${goal.medianMs} ms, worst ${goal.worstMs} ms`,
    answered.status === 200 && median <= goal.medianMs && worst <= goal.worstMs,
  );
}
