// Covers secrets that are replaced on a page: shown once, the old one valid as long as was chosen, and nothing of them kept.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useConsole } from '../../../test/console.ts';
import { keepLog } from '../../../test/log-lines.ts';
import { managementToken } from '../../../test/onboarding.ts';
import { rootA } from '../../../test/service.ts';

const log = keepLog();
const { service, enter } = await useConsole({ LOG_LEVEL: 'debug' }, { logTo: log });
const { db, url } = service;
const [admin, viewer] = [await enter('admin'), await enter('viewer')];
await service.addSchool('s1');
const app = await service.addClient('keeps', ['s1']);
const at = (kind: string) => `/console/applications/keeps/secrets/${kind}`;

const works = {
  client: async (secret: string) =>
    (await fetch(`${url}${rootA}/token`, {
      method: 'POST', headers: { authorization: `Basic ${Buffer.from(`${app.clientId}:${secret}`).toString('base64')}` },
    })).status === 200,
  management: async (secret: string) => (await managementToken(url, 'keeps', secret)) !== null,
};
const replacesOf = (text: string) => /name="replaces" value="([^"]+)"/.exec(text)?.[1] ?? assert.fail('the form names the secret');
const secretOf = (text: string) => /id="new-secret" value="([^"]+)"/.exec(text)?.[1]?.replaceAll('&#43;', '+') ?? assert.fail('a secret is shown');
const endNow = () => db`update application_secret set valid_until = now() - interval '1 second' where valid_until is not null and rp = 'keeps'`;

for (const kind of ['client', 'management'] as const) {
  test(`the ${kind} secret is replaced: both work until the overlap ends, and then the new one alone`, async () => {
    const first = kind === 'client' ? app.clientSecret : app.managementSecret;
    const form = { replaces: replacesOf((await admin.get(at(kind))).text), 'keep-old': '24h' };
    const shown = await admin.post(`${at(kind)}/rotate`, form);
    assert.deepEqual([shown.status, shown.headers.get('cache-control')], [200, 'no-store']);
    const second = secretOf(shown.text);
    assert.match(shown.text, /shown this once[^]*The old one works until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/);
    assert.deepEqual([await works[kind](first), await works[kind](second)], [true, true]);
    const [old] = await db<{ hours: number }[]>`
      select round(extract(epoch from valid_until - now()) / 3600)::int as hours from application_secret
      where rp = 'keeps' and kind = ${kind} and valid_until is not null`;
    assert.equal(old?.hours, 24);

    const again = await admin.post(`${at(kind)}/rotate`, form);
    assert.equal(again.status, 409, 'a reload replaces nothing');
    assert.match(again.text, /replaced since the page was opened; nothing was changed now/);
    assert.equal((await db`select from application_secret where rp = 'keeps' and kind = ${kind}`).length, 2);
    const page = await admin.get(at(kind));
    assert.match(page.text, /An old one<\/dt>[^]*End the old one now/);
    for (const { text } of [again, page, await admin.get('/console/applications/keeps')]) assert.ok(!text.includes(second), 'it is on no other page');

    await endNow();
    assert.deepEqual([await works[kind](first), await works[kind](second)], [false, true]);
    assert.doesNotMatch((await admin.get(at(kind))).text, /End the old one now/);
    const atOnce = await admin.post(`${at(kind)}/rotate`, { replaces: replacesOf((await admin.get(at(kind))).text), 'keep-old': '0' });
    assert.match(atOnce.text, /The old one has ended/);
    assert.deepEqual([await works[kind](second), await works[kind](secretOf(atOnce.text))], [false, true]);
  });
}

test('the old one can be ended before its time', async () => {
  const form = { replaces: replacesOf((await admin.get(at('client'))).text), 'keep-old': '30d' };
  const first = secretOf((await admin.post(`${at('client')}/rotate`, form)).text);
  const later = { replaces: replacesOf((await admin.get(at('client'))).text), 'keep-old': '7d' };
  const second = secretOf((await admin.post(`${at('client')}/rotate`, later)).text);
  assert.deepEqual([await works.client(first), await works.client(second)], [true, true]);
  const ended = await admin.post(`${at('client')}/end-old`);
  assert.deepEqual([ended.status, ended.location], [303, `${at('client')}?done=applications-rp-secrets-kind-end-old`]);
  assert.deepEqual([await works.client(first), await works.client(second)], [false, true]);
  assert.match((await admin.get(ended.location ?? '')).text, /The old secret has ended/);
  const none = await admin.post(`${at('client')}/end-old`);
  assert.equal(none.status, 409);
  assert.match(none.text, /There is no old secret that still works/);
});

test('the signing secret: two sign while there are two', async () => {
  const page = await admin.get(at('signing'));
  assert.match(page.text, /both sign/);
  const shown = await admin.post(`${at('signing')}/rotate`, { replaces: replacesOf(page.text), 'keep-old': '1h' });
  assert.match(secretOf(shown.text), /^whsec_[\w+/]+=$/);
  const valid = await db`
    select sealed is not null as sealed from application_secret where rp = 'keeps' and kind = 'signing' and (valid_until is null or valid_until > now())`;
  assert.deepEqual(valid.map(({ sealed }) => sealed), [true, true]);
});

test('without an overlap, with a secret of nobody, of a kind that is none: refused, and nothing is changed', async () => {
  const count = async () => (await db`select from application_secret where rp = 'keeps'`).length;
  const before = await count();
  const replaces = replacesOf((await admin.get(at('client'))).text);
  for (const [status, path, form] of [
    [400, at('client'), { replaces }],
    [400, at('client'), { replaces, 'keep-old': '99d' }],
    [409, at('client'), { 'keep-old': '0' }],
    [409, at('client'), { replaces: "' or 1=1", 'keep-old': '0' }],
    [409, at('management'), { replaces, 'keep-old': '0' }],
    [404, at('school'), { replaces, 'keep-old': '0' }],
    [404, '/console/applications/nobody/secrets/client', { replaces, 'keep-old': '0' }],
  ] as [number, string, Record<string, string>][])
    assert.equal((await admin.post(`${path}/rotate`, form)).status, status, `${path} ${JSON.stringify(form)}`);
  assert.equal((await admin.get(at('school'))).status, 404);
  assert.equal((await viewer.post(`${at('client')}/rotate`, { replaces, 'keep-old': '0' })).status, 403);
  assert.equal(await count(), before);
});

test('what two replace at the same time, one replaces', async () => {
  const form = { replaces: replacesOf((await admin.get(at('management'))).text), 'keep-old': '1h' };
  const answers = await Promise.all([1, 2, 3].map(() => admin.post(`${at('management')}/rotate`, form)));
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409]);
});

test('the trail says who replaced what and for how long the old one stays, and neither it nor the log holds a secret', async () => {
  const trail = await db`select actor, rp, subject, detail, outcome from audit_event where action = 'rotate' and outcome = 'done' order by number`;
  assert.deepEqual({ ...trail[0] }, { actor: 'admin', rp: 'keeps', subject: 'client secret', detail: { keepOld: '24h' }, outcome: 'done' });
  assert.match(log.text(), /secrets\/client\/rotate/);
  for (const text of [JSON.stringify(await db`select * from audit_event`), log.text()]) assert.doesNotMatch(text, /sb_client_|sb_mgmt_|whsec_/);
});
