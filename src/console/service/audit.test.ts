// Covers the page of the audit trail: filters, pages by key, what was given as one reads it, and the same as a file.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { readToEnd, useConsole } from '../../../test/console.ts';
import { audited, noteLook, type Deed } from '../../access/audit-trail.ts';
import { SchoolbellError } from '../../errors.ts';

const { service, enter } = await useConsole();
const { db } = service;
const [admin, viewer] = [await enter('admin'), await enter('viewer')];
const hostile = '<script>alert(1)</script>';
const path = '/console/audit';

beforeEach(async () => {
  await db`truncate audit_event`;
});

const note = (action: string, deed: Omit<Deed, 'action'> = {}, name = 'ann') =>
  noteLook(db, { name, via: 'command line', from: 'host<1>' }, { action, ...deed });
const actions = (text: string) => [...text.matchAll(/data-label="What"><div>([^<]*)</g)].map(([, action]) => action);

test('an empty trail says what will be there; a viewer reads it all, and nothing in it is markup', async () => {
  assert.match((await viewer.get(path)).text, /will be here, with who did it/);
  await note(hostile, { subject: hostile, detail: { [hostile]: hostile, list: ['a', hostile], nested: { b: hostile }, none: null } }, hostile);
  const refuse = () => Promise.reject(new SchoolbellError('conflict', `no: ${hostile}`));
  await audited(db, { name: 'bob', via: 'console', from: '::1' }, { action: 'pause' }, refuse).catch(() => {});
  await db`insert into audit_event (actor, via, action) values ('bob', 'console', 'half')`;
  const { text } = await viewer.get(path);
  assert.doesNotMatch(text, /<script>/);
  assert.match(text, /<span class="quiet">list<\/span> a, &#60;script/);
  assert.match(text, /Refused<\/span><br><span class="quiet">no: &#60;script/);
  assert.match(text, /<span class="badge off">Cut off/);
  assert.match(text, /command line, host&#60;1&#62;/);
  assert.deepEqual(actions(text), ['half', 'pause', '&#60;script&#62;alert(1)&#60;/script&#62;']);
});

test('by school, application, person and time; what is no time is said and left out', async () => {
  await note('one', { estab: 's1', rp: 'a1' });
  await note('two', { estab: 's2', rp: 'a1' }, 'bob');
  await note('three', { estab: 's1' }, 'bob');
  await db`update audit_event set at = at - interval '3 days' where action = 'one'`;
  const since = new Date(Date.now() - 86_400_000).toISOString();
  for (const [query, found] of [
    ['?estab=s1', ['three', 'one']], ['?rp=a1', ['two', 'one']], ['?actor=bob', ['three', 'two']], ['?actor=bob&estab=s1', ['three']],
    [`?since=${since}`, ['three', 'two']], [`?since=${since}&estab=s1`, ['three']], ['?estab=nobody', []], ['?before=nonsense', ['three', 'two', 'one']],
    ['?since=yesterday', ['three', 'two', 'one']], ['?since=%2B275760-01-01', ['three', 'two', 'one']], ['?since=5', ['three', 'two', 'one']],
    [`?actor=${encodeURIComponent("' or 1=1 --")}`, []],
  ] as const) {
    const { status, text } = await viewer.get(`${path}${query}`);
    assert.deepEqual([status, actions(text)], [200, found], query);
  }
  assert.match((await viewer.get(`${path}?since=${encodeURIComponent(hostile)}`)).text, /since: &#34;&#60;script&#62;.*&#34; is not a time/);
});

test('a time is by the clock of UTC, whatever that of the server is; a file is not made of what is no time', async () => {
  const zone = process.env.TZ;
  process.env.TZ = 'America/New_York';
  try {
    await note('one', { estab: 's1' });
    await note('two', { estab: 's1' });
    await db`update audit_event set at = '2026-01-10T08:00Z' where action = 'one'`;
    await db`update audit_event set at = '2026-01-10T09:00Z' where action = 'two'`;
    for (const since of ['2026-01-10 08:30', '2026-01-10T08:30', '2026-01-10T09:30+01:00']) {
      const { text } = await viewer.get(`${path}?estab=s1&since=${encodeURIComponent(since)}`);
      assert.deepEqual(actions(text), ['two'], since);
      assert.match(text, /type="datetime-local" id="filter-since" name="since" value="2026-01-10T08:30"/);
    }
  } finally {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  }
  assert.match((await viewer.get(`${path}?since=5`)).text, /since: &#34;5&#34; is not a time/);
  assert.equal((await viewer.get(`${path}/csv?since=5`)).status, 400);
});

test('pages follow one another by number', async () => {
  await db`insert into audit_event (actor, via, action, estab) select 'ann', 'console', 'deed ' || n, 's1' from generate_series(1, 120) n`;
  const seen = (await readToEnd(viewer, `${path}?estab=s1`)).flatMap(actions);
  assert.deepEqual(seen, Array.from({ length: 120 }, (_, at) => `deed ${120 - at}`));
});

test('as a file: all of what is filtered, nothing that a spreadsheet runs, and that it was taken stands in the trail', async () => {
  await db`
    insert into audit_event (actor, via, action, estab, detail)
    select 'ann', 'console', 'deed ' || n, 's1', '{"a": "=1+1"}' from generate_series(1, 2500) n`;
  await note('=cmd()', { estab: 's1', detail: { q: 'a "b", c' } });
  await note('elsewhere', { estab: 's2' });
  const { headers, text } = await viewer.get(`${path}/csv?estab=s1`);
  assert.match(headers.get('content-type') ?? '', /^text\/csv/);
  assert.match(headers.get('content-disposition') ?? '', /attachment/);
  const rows = text.trimEnd().split('\r\n');
  // With the heading, and the line that says that it was taken.
  assert.equal(rows.length, 1 + 2501 + 1);
  assert.match(rows[1] ?? '', /export audit trail,s1/);
  assert.match(rows[2] ?? '', /,'=cmd\(\),s1,,,"q: a ""b"", c",done,$/);
  assert.ok(!text.includes('elsewhere'));
  assert.match((await admin.get(`${path}?estab=s1`)).text, /href="\/console\/audit\/csv\?estab=s1">These as CSV/);
});
