// Tests how people say which school is theirs: by number or by name, or not at all where the browser remembers it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openForm, sessionCookie, signIn, useIdentity } from '../../test/identity.ts';
import { citusUrl } from '../../test/spread-database.ts';
import { findEstab } from '../access/find-school.ts';
import type { Tx } from '../db/connect.ts';

const identity = await useIdentity();
const { db, url, makeRegistered, service } = identity;
const password = 'seven green lanterns';
await makeRegistered('Given s1', password);
await db`update establishment set name = 'St. Mary’s C of E Primary, Hill' where estab = 'one'`;
await db`update establishment set name = 'The Two Rivers Academy' where estab = 'two'`;

test('a school is found by its number, its name, or the beginning of a name that no other has', async () => {
  await service.addSchool('3804001');
  await service.addSchool('3804002');
  await db`update establishment set name = 'Oak Lane' where estab in ('3804001', '3804002')`;
  await service.addSchool('3804003');
  await db`update establishment set name = 'Oak Lane Annexe' where estab = '3804003'`;
  for (const [typed, found] of [
    ['one', 'one'], ['St. Mary’s C of E Primary, Hill', 'one'], ["st mary's  c of e primary hill", 'one'], ['St Marys', 'one'], ['stm', undefined],
    ['Two Rivers', undefined], ['the two rivers', 'two'], ['Oak Lane', undefined], ['Oak Lane An', '3804003'], ['Oak Lane (3804002)', '3804002'],
    ['3804001', '3804001'], ['nowhere', undefined], ['', undefined], ['%', undefined], ["' or 1=1 --", undefined], ['(two)', 'two'],
  ] as const)
    assert.equal(await findEstab(db, typed), found, typed);
});

const onNodes = citusUrl !== undefined && 'nothing is analyzed there in a transaction that has changed it';

test('among all the schools of a country a name is looked up, not searched for', { skip: onNodes }, async () => {
  const looked = db.begin(async (tx) => {
    // What other processes read for it is not counted.
    await tx`set local max_parallel_workers_per_gather = 0`;
    await tx`insert into establishment (estab, name, email, confirmed_at)
      select 'E' || n, 'Saint Something’s Church of England Primary School ' || n, 'office@school.example', now() from generate_series(1, 25000) n`;
    await tx`analyze establishment`;
    const whole = 'saint somethings church of england primary school 25000';
    for (const [typed, found] of [['Saint Something', undefined], [whole, 'E25000'], ['nowhere', undefined], ['E77', 'E77'], ['E77777', undefined]] as const) {
      const before = await rowsRead(tx);
      assert.equal(await findEstab(tx, typed), found);
      const read = (await rowsRead(tx)) - before;
      assert.ok(read < 100, `${typed}: ${read} schools were read`);
    }
    throw new Error('all were looked up');
  });
  await assert.rejects(looked, /all were looked up/);
});

/** How many rows of the table were read, one after the other or by an index, in this transaction. */
async function rowsRead(tx: Tx): Promise<number> {
  const [row] = await tx<{ rows: number }[]>`
    select pg_stat_get_xact_tuples_returned(t.oid)::int + pg_stat_get_xact_tuples_fetched(t.oid)::int as rows
    from pg_class t where t.oid = 'establishment'::regclass`;
  return row?.rows ?? 0;
}

test('a school that only an application has named is found by nobody who types its name', async () => {
  await service.addSchool('named');
  await db`update establishment set name = 'Named School', confirmed_at = null where estab = 'named'`;
  assert.equal(await findEstab(db, 'Named School'), undefined);
  assert.equal(await findEstab(db, 'named'), 'named');
});

test('people sign in with the name of their school, and the browser remembers it', async () => {
  const signedIn = await signIn(url, 'st marys c of e primary hill', 's1', password);
  assert.equal(signedIn.status, 303);
  const cookies = signedIn.headers.getSetCookie();
  const place = cookies.find((one) => one.startsWith('schoolbell_place=')) ?? '';
  assert.match(place, /; Path=\/; Max-Age=34560000; HttpOnly; SameSite=Lax$/);
  const [cookie = ''] = place.split(';');
  const shown = await (await fetch(`${url}/login`, { headers: { cookie } })).text();
  assert.match(shown, /name="estab" value="St\. Mary’s C of E Primary, Hill \(one\)"/);
  const form = await openForm(url, '/login', [cookie]);
  const again = await form.post({ estab: 'St. Mary’s C of E Primary, Hill (one)', username: 's1', password });
  assert.equal(again.status, 303);
  assert.match(await (await fetch(`${url}/account`, { headers: { cookie: sessionCookie(again) } })).text(), /St\. Mary’s/);
});

test('a wrong try remembers nothing, and a made-up cookie tells nothing', async () => {
  assert.doesNotMatch(String((await signIn(url, 'one', 's1', 'wrong')).headers.getSetCookie()), /schoolbell_place/);
  for (const made of ['one', 'two', '%zz', encodeURIComponent('"><script>alert(1)</script>')]) {
    const text = await (await fetch(`${url}/login`, { headers: { cookie: `schoolbell_place=${made}` } })).text();
    assert.doesNotMatch(text, /Mary|Rivers|<script/, made);
  }
});

test('however the school was typed, wrong tries count for the same login', async () => {
  await db`delete from wrong_try`;
  for (const typed of ['one', 'St Marys', 'ST MARYS C OF E']) assert.equal((await signIn(url, typed, 's1', 'wrong')).status, 401);
  assert.deepEqual((await db<{ client: string }[]>`select distinct client from wrong_try`).map(({ client }) => client), ['one|s1']);
});
