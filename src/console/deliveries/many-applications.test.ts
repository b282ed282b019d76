// With more applications than one can choose from, the one that is meant is typed: on every page of deliveries, and to send again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enter } from '../../../test/console.ts';
import { useDelivering } from '../../../test/delivery.ts';
import { enqueueOneOff } from '../../notifications/one-off.ts';

const { service, db, addSchool } = await useDelivering({ worker: false });
const admin = await enter(service, 'admin');
const [one, other] = [await addSchool(), await addSchool()];
const pages = ['/console/deliveries', '/console/deliveries/tail', '/console/targets'];
const send = ({ estab, rp }: typeof one) =>
  db.begin((tx) => enqueueOneOff(tx, { estab, rp, event: 'writeback', url: 'https://told.example/w', body: {} }));

/** So many are there in all. */
async function have(applications: number): Promise<void> {
  await db`
    insert into application (rp, name, callback_url, required_scopes, optional_scopes, client_id)
    select 'many-' || n, repeat('A name ', 10) || n, 'https://many.example', '{}', '{}', 'many-' || n
    from generate_series(1, ${applications} - (select count(*)::int from application where rp not like 'many-%')) n on conflict do nothing`;
}

test('up to 200 can be chosen', async () => {
  await have(200);
  for (const page of pages) {
    const { text } = await admin.get(`${page}?rp=${one.rp}`);
    assert.match(text, new RegExp(`<select id="filter-rp" name="rp">[^]*<option value="${one.rp}" selected>`), page);
    const [, choices = ''] = /<select id="filter-rp"[^>]*>([^]*?)<\/select>/.exec(text) ?? [];
    assert.equal(choices.match(/<option/g)?.length, 201, page);
  }
  assert.match((await admin.get('/console/deliveries')).text, /<select id="of" name="of">/);
});

test('one more, and it is typed: the pages stay small, show what is asked for, and send that again', async () => {
  await have(201);
  const ids = [await send(one), await send(other)];
  for (const page of pages) {
    const { text } = await admin.get(`${page}?rp=+${one.rp}+`);
    const typed = new RegExp(`<label for="filter-rp">Application \\(rp\\)</label>\\s*<input type="text" id="filter-rp" name="rp" value="${one.rp}"`);
    assert.match(text, typed, page);
    assert.doesNotMatch(text, /many-/, page);
    const rows = text.slice(text.indexOf('<tbody'));
    assert.deepEqual([rows.includes(`/console/applications/${one.rp}"`), rows.includes(`/console/applications/${other.rp}"`)], [true, false], page);
  }
  await db`update outbox set state = 'failed', settled_at = now() where id = any(${ids})`;
  assert.match((await admin.get('/console/deliveries')).text, /<input type="text" id="of" name="of" value=""/);
  const sent = await admin.post('/console/deliveries/replay-failed', { 'failed-since': '2001-01-01T00:00', of: ` ${one.rp} ` });
  assert.match((await admin.get(sent.location ?? '')).text, /1 delivery will be sent again/);
  const states = await db<{ rp: string; state: string }[]>`select rp, state from outbox where id = any(${ids}) order by rp`;
  assert.deepEqual(states.map(({ rp, state }) => [rp, state]), [[one.rp, 'waiting'], [other.rp, 'failed']]);
});
