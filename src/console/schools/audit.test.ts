// Covers the trail of a school: all that happened, of all kinds, page by page without gaps or repeats, and of that school alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useConsole } from '../../../test/console.ts';
import { noteLook } from '../../access/audit-trail.ts';
import { listTrail, trailKinds } from '../../access/trail.ts';

const { service, enter } = await useConsole();
const { db } = service;
const admin = await enter('admin');

await service.addSchool('a');
await service.addSchool('b');
await service.addClient('reads', ['a', 'b']);
const many = 70;
for (const estab of ['a', 'b'])
  await db.begin(async (tx) => {
    const [said, at] = [tx`n || ' at ' || ${estab}::text`, tx`now() - make_interval(mins => ${many} - n)`];
    await tx`insert into audit_event (actor, via, action, estab, at, outcome)
      select 'somebody', 'console', 'deed ' || ${said}, ${estab}, ${at}, 'done' from generate_series(1, ${many}) n`;
    await tx`insert into authorisation_event (estab, rp, state, actor, at)
      select ${estab}, 'reads', 'Decision ' || ${said}, 'school', ${at} from generate_series(1, ${many}) n`;
    await tx`insert into identity_audit (estab, rp, operation, presence_id, outcome, at)
      select ${estab}, null, 'SignIn' || ${said}, 'p' || n, 'done', ${at} from generate_series(1, ${many}) n`;
    await tx`insert into disclosure (estab, rp, day, collection, requests, records, fields)
      select ${estab}, 'reads', current_date - 1 - n / 2, 'c' || n || ' at ' || ${estab}::text, 1, n, '{}' from generate_series(1, ${many}) n`;
  });
const whats = (page: string) =>
  [...page.matchAll(/data-label="What"><div>(.+?) <span class="quiet">\((\w+)\)/g)].map(([, what = '', kind = '']) => `${kind} ${what}`);
const nextOf = (page: string) => (/<a href="([^"]+)" rel="next">/.exec(page)?.[1] ?? '').replaceAll('&#38;', '&');

async function walk(path: string): Promise<string[]> {
  const seen: string[] = [];
  for (let at = path, pages = 0; at !== ''; pages += 1) {
    assert.ok(pages < 20);
    const { status, text: page } = await admin.get(at);
    assert.equal(status, 200);
    assert.ok(whats(page).length <= 50);
    seen.push(...whats(page));
    at = nextOf(page);
  }
  return seen;
}

test('the trail of a school comes page by page, each line once, newest first, and nothing of another school', async () => {
  const seen = await walk('/console/schools/a/audit');
  assert.deepEqual([seen.length, new Set(seen).size], [4 * many, 4 * many]);
  assert.ok(seen.every((what) => what.endsWith(' at a')));
  const deeds = seen.filter((what) => what.startsWith('operator')).map((what) => Number(/deed (\d+)/.exec(what)?.[1]));
  assert.deepEqual(deeds, deeds.toSorted((one, other) => other - one));
  assert.deepEqual(new Set(seen.slice(0, 9).map((what) => what.split(' ')[0])), new Set(['operator', 'decision', 'identity']), 'kinds are mixed by their time');
});

test('one kind alone, kept from page to page', async () => {
  for (const kind of trailKinds.filter((one) => one !== 'erasure')) {
    const seen = await walk(`/console/schools/a/audit?kind=${kind}`);
    assert.deepEqual([new Set(seen).size, seen.every((what) => what.startsWith(kind))], [many, true], kind);
  }
  assert.equal((await walk('/console/schools/a/audit?kind=odd')).length, 4 * many);
});

test('over all schools it is complete as well, by the time of each line', async () => {
  const seen: string[] = [];
  let before: string | undefined;
  do {
    const { entries, next } = await listTrail(db, { before, most: 37 });
    seen.push(...entries.map(({ kind, what }) => `${kind} ${what}`));
    before = next;
  } while (before !== undefined);
  assert.deepEqual([seen.length, new Set(seen).size], [6 * many, 6 * many]);
});

test('a place that is not of our making begins at the beginning, or is passed over; nothing breaks', async () => {
  const first = whats((await admin.get('/console/schools/a/audit')).text);
  const odd = [
    'odd', 'operator~2026-02-31T00:00:00.000000Z~1', 'operator~0000-01-01T00:00:00.000000Z~1', 'operator~2026-01-01~1', 'reading~2026-01-01~x',
    'identity~2026-01-01T25:00:00.000000Z~5', `identity~2026-01-01T00:00:00.000000Z~${'9'.repeat(40)}`, 'reading~x~a/b', '!!!', '~~~',
  ];
  for (const before of odd) {
    const { status, text: page } = await admin.get(`/console/schools/a/audit?before=${encodeURIComponent(before)}`);
    assert.equal(status, 200, before);
    assert.deepEqual(whats(page), first, before);
  }
});

test('what others wrote is text, and one that was cut off is seen to be', async () => {
  await service.addSchool('c');
  const deed = { action: 'look', estab: 'c', subject: '<script>x</script>', detail: { '"><b>': '<u>' } };
  await noteLook(db, { name: '<i>me</i>', via: 'console', from: '::1' }, deed);
  await db`insert into audit_event (actor, via, action, estab) values ('school', 'console', 'broken', 'c')`;
  const { text: page } = await admin.get('/console/schools/c/audit');
  assert.doesNotMatch(page, /<script>x|<i>me|<b>|<u>/);
  assert.match(page, /&#60;script&#62;x/);
  assert.match(page, /<span class="badge off">Cut off/);
  assert.match(page, /<bdi>school<\/bdi>/, 'an operator is called as they are called');
});
