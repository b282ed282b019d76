// Covers the list of schools: a thousand of them page by page, searches and filters, and names that try to be markup.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readToEnd, useConsole } from '../../../test/console.ts';
import { smallPackage } from '../../../test/small-school.ts';

const { service, enter } = await useConsole();
const { db } = service;
const admin = await enter('admin');
const text = (page: string) => page.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
const rows = (page: string) => [...page.matchAll(/<a href="\/console\/schools\/([^"/?]+)"><bdi>/g)].map(([, estab = '']) => decodeURIComponent(estab));
const nextOf = (page: string) => text(/<a href="([^"]+)" rel="next">/.exec(page)?.[1] ?? '');

const walk = async (path: string) => (await readToEnd(admin, path)).map(rows);

test('an empty list says how to begin, to those who may', async () => {
  assert.match((await admin.get('/console/schools')).text, /href="\/console\/add-school">Add the first school/);
  assert.doesNotMatch((await (await enter('viewer')).get('/console/schools')).text, /add-school/);
});

test('a thousand schools come page by page, each once, although many have the same name and some change meanwhile', async () => {
  await db`insert into establishment (estab, name, email)
    select to_char(n, 'FM0000000'), case when n % 3 = 0 then 'The same name' else 'School ' || md5(n::text) end, 'office@example.com'
    from generate_series(1, 1000) n`;
  await db`insert into roster (estab) select estab from establishment`;
  const pages = await walk('/console/schools');
  assert.deepEqual([pages.length, new Set(pages.flat()).size, pages.flat().length], [20, 1000, 1000]);
  const first = await admin.get('/console/schools');
  const last = rows(first.text).at(-1) ?? '';
  await db`delete from establishment where estab = ${last}`;
  assert.equal(rows((await admin.get(nextOf(first.text))).text)[0], pages[1]?.[0], 'the next page goes on where the first ended, also if that school is gone');
  const found = await walk('/console/schools?q=same+NAME');
  assert.deepEqual([found.length, found.flat().length], [7, 333]);
});

test('a school is found by any words of its name, by its number, and by both', async () => {
  await db`insert into establishment (estab, name, email) values ('9351234', ${"St Mary's C.E. Primary, Über-Town"}, 'a@b.example')`;
  await db`insert into roster (estab) values ('9351234')`;
  for (const q of ["mary's", 'MARYS primary', 'primary st', '9351', "St Mary's (9351234)", 'C.E. Primary', '935-1234'])
    assert.deepEqual(rows((await admin.get(`/console/schools?q=${encodeURIComponent(q)}`)).text), ['9351234'], q);
  for (const q of ['marys secondary', '!!!', '%', '_', '\\', "'; drop table x --"]) {
    const { status, text: page } = await admin.get(`/console/schools?q=${encodeURIComponent(q)}`);
    assert.deepEqual([status, rows(page)], [200, []], q);
    assert.match(page, /No school is like that/);
  }
});

test('filters by state and by source, kept from page to page; a value that is none is passed over', async () => {
  await service.addSchool('live', smallPackage());
  await service.addClient('reads', ['live']);
  assert.deepEqual(rows((await admin.get('/console/schools?state=live')).text), ['live']);
  assert.deepEqual(rows((await admin.get('/console/schools?source=csv')).text), ['live']);
  assert.deepEqual(rows((await admin.get('/console/schools?source=csv&state=new')).text), []);
  assert.match((await admin.get('/console/schools?state=live')).text, /<span class="badge good">Live<\/span>/);
  const pages = await walk('/console/schools?state=new&source=none');
  assert.equal(pages.flat().length, new Set(pages.flat()).size);
  assert.ok(!pages.flat().includes('live') && pages.flat().length >= 999);
  for (const odd of ['state=odd', 'source=odd', 'state=live&state=odd', 'after=odd', 'after=%20', 'after=1234567+']) {
    assert.equal((await admin.get(`/console/schools?${odd}`)).status, 200, odd);
  }
  assert.equal((await admin.get('/console/schools?q=%00')).status, 400);
  assert.equal((await admin.get('/console/schools/%00')).status, 404);
});

test('a name is text, whatever it holds', async () => {
  const hostile = '</title><script>alert(1)</script>"\'><img src=x onerror=alert(1)>\u202Eedoc';
  await db`insert into establishment (estab, name, email) values ('hostile', ${hostile}, ${'"><b>@x.example'})`;
  await db`insert into roster (estab) values ('hostile')`;
  for (const path of ['/console/schools?q=hostile', '/console/schools/hostile', '/console/schools/hostile/edit', '/console/schools/hostile/remove',
    '/console/schools/hostile/audit', '/console/schools/hostile/upload-token', '/console/schools/hostile/add-application',
    '/console/schools/hostile/applications/reads']) {
    const { status, text: page } = await admin.get(path);
    assert.equal(status, 200, path);
    assert.doesNotMatch(page, /<script>|<img|<b>@|onerror=alert\(1\)>/, path);
    assert.match(page, /&#60;script&#62;/, path);
  }
  const typed = await admin.get(`/console/schools?q=${encodeURIComponent('"><script>')}`);
  assert.doesNotMatch(typed.text, /<script>/);
});

test('names of any length, letters and blanks come page by page, each once', async () => {
  const odd = ['é', 'E', 'ß', 'İ', ' ', '\n', '\u00a0', '%', '&', '#', '+', '日本', '😀', "'", '\\', '-', 'a b', 'A-b', 'ﬁ', '\u202e'];
  const names = odd.flatMap((one) => ['', 'x', 'X ', '😀'.repeat(99), 'long '.repeat(4_000)].map((more) => `${one}odd${more}${one}`));
  await db`insert into establishment (estab, name, email) select 'odd-' || n, name, 'a@b.example' from unnest(${names}::text[]) with ordinality as t (name, n)`;
  const pages = await walk('/console/schools?q=odd');
  assert.deepEqual([pages.flat().length, new Set(pages.flat()).size], [names.length, names.length]);
});
