// Covers the sandbox at the console: who sees it and whose it is, that a developer comes to an application of their own, and that without a
// demo it is not there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enter as enterAt, useConsole } from '../../../test/console.ts';
import { smallPackage } from '../../../test/small-school.ts';
import { managementToken } from '../../../test/onboarding.ts';

const { service, enter } = await useConsole({ DEMO: 'on' });
const { db, url } = service;
await service.addSchool('9990001', smallPackage());
await db`update establishment set connector = 'demo' where estab = '9990001'`;
await service.addClient('reader', ['9990001']);
const at = '/console/applications/reader/sandbox';

test('a developer makes an application to rehearse with, which is theirs, and steers it; a reload makes no second one', async () => {
  const ada = await enter('developer', 'ada', ['reader']);
  const page = await ada.get(at);
  assert.match(page.text, /no application of the demo/);
  assert.doesNotMatch(page.text, /id="sandbox-answers"/);
  const form = { name: 'Ada’s rehearsal', ending: 'abc123' };
  const made = await ada.post(`${at}/application`, form);
  assert.equal(made.status, 200);
  const rp = 'ada-s-rehearsal-abc123.demo';
  const secret = /id="management" value="([^"]+)"/.exec(made.text)?.[1] ?? '';
  assert.ok(await managementToken(url, rp, secret));
  assert.equal((await ada.post(`${at}/application`, form)).status, 409);
  const own = `/console/applications/${rp}/sandbox`;
  assert.equal((await ada.get(own)).status, 200);
  assert.equal((await (await enter('developer', 'eve', ['reader'])).get(own)).status, 404, 'it is nobody else’s');
  const sent = await ada.post(`${own}/tokens`, { 'tokens-seconds': '5' });
  const [back = '', card = ''] = (sent.headers.get('location') ?? '').split('#');
  assert.deepEqual([sent.status, back], [303, `${own}?done=applications-rp-sandbox-tokens`]);
  const steered = (await ada.get(back)).text;
  assert.match(steered, new RegExp(`<section class="card" id="${card}"[^>]*>[^]{0,300}Done\\.</strong> Tokens: live 5 s`), 'at the card that it was done with');
  assert.match(steered, /One of start-of-term, /);
  assert.match(steered, /Let through what the new day does to the roster/);
  for (const words of ['Let a pupil join', 'Let a pupil leave', 'Split a class', 'Take everything back'])
    assert.ok(steered.includes(`>${words}</button>`), words);
  assert.match(steered, /<dt>Tokens<\/dt><dd>live 5 s, until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC</);
  assert.match(steered, /id="tokens-seconds"[^>]+value="5"/, 'what is in force stands in its form');
  assert.equal((await ada.post(`${own}/events`, { 'events-mode': 'never' })).status, 303);
  assert.match((await ada.get(own)).text, /<option value="never" selected>/);
  const refused = await ada.post(`${own}/tokens`, { 'tokens-seconds': 'x' });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /id="tokens-seconds"[^>]+value="x"/);
  assert.match(refused.text, /<option value="never" selected>/, 'the forms beside it stay as they were');
  assert.match(refused.text, /Seconds .{1,8}x.{1,8}: must be a whole number from 0 to 3600/);
});

test('what is no application of the demo is not steered, and who only looks changes nothing', async () => {
  const admin = await enter('admin');
  assert.equal((await admin.post(`${at}/answers`, { 'answers-status': '503' })).status, 403);
  const viewer = await enter('viewer');
  assert.doesNotMatch((await viewer.get(at)).text, /<form[^>]+sandbox/);
  assert.equal((await viewer.post(`${at}/application`, { name: 'x' })).status, 403);
  assert.deepEqual([...(await db`select from sandbox_fault where rp = 'reader'`)], []);
});

test('without a demo there is no such page', async () => {
  const plain = await service.join({ DEMO: 'off' });
  const admin = await enterAt({ ...service, url: plain.url }, 'admin');
  assert.equal((await admin.get(at)).status, 404);
  assert.equal((await admin.post(`${at}/application`, { name: 'x' })).status, 404);
  assert.doesNotMatch((await admin.get('/console/applications/reader')).text, /sandbox/i);
});
