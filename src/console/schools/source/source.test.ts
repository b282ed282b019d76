// A school's source in the console: what is shown of it, how it is changed, tested before it is saved, collected and followed.
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { beforeEach, test } from 'node:test';
import { useConsole } from '../../../../test/console.ts';
import { rootB, useService } from '../../../../test/service.ts';
import { smallPackage } from '../../../../test/small-school.ts';
import { until } from '../../../../test/until.ts';
import { prepareSource, saveSource, type SourceSetup } from '../../../collection/change-source.ts';
import { readSettings } from '../../../collection/connector-settings.ts';

const { service, enter } = await useConsole({ OUTBOUND_ALLOW: '127.0.0.0/8' });
const { db, seal } = service;
const provider = await useService();
await provider.addSchool('MIS', smallPackage());
const client = await provider.addClient('schoolbell', ['MIS']);
const secret = client.schoolSecrets.MIS ?? '';
const [admin, viewer] = [await enter('admin'), await enter('viewer')];
let count = 0;
let estab = '';
let path = '';

beforeEach(async () => {
  estab = `S${(count += 1)}`;
  path = `/console/schools/${estab}/source`;
  await service.addSchool(estab);
});

const right = () => ({ kind: 'oneroster', url: `${provider.url}${rootB}`, tokenUrl: '', clientId: 'schoolbell|MIS', clientSecret: secret });
const set = (setup: SourceSetup) => db.begin((tx) => saveSource(tx, seal, estab, setup));
const shown = async () => (await admin.get(path)).text;
const problemIn = (text: string) => /id="problem"[^>]*>([\s\S]*?)<\/div>/.exec(text)?.[1] ?? '';
const stored = async () =>
  (await db`
    select e.connector, s.settings, s.sealed_credentials is not null as sealed from establishment e left join connector_setting s using (estab)
    where e.estab = ${estab}`)[0];
const wanted = async () =>
  (await db`select topic from outbox where estab = ${estab} and kind = 'collect' and state = 'waiting' order by topic`).map(({ topic }) => topic);
const trail = async (action: string) =>
  db<{ outcome: string; detail: Record<string, unknown> }[]>`
    select outcome, detail from audit_event where estab = ${estab} and action = ${action} order by number`;

test('a school without a source: what to do is open, and nothing can be collected', async () => {
  const text = await shown();
  assert.match(text, /id="connector">None</);
  assert.match(text, /Nothing was collected or uploaded yet/);
  assert.match(text, /<details open>\s*<summary>A OneRoster provider/);
  assert.doesNotMatch(text, /id="collect"|id="source-none"|data-follow/);
  const refused = await admin.post(`${path}/collect`);
  assert.equal(refused.status, 409);
  assert.match(problemIn(refused.text), /no source that can be asked/);
});

test('a secret that somebody replaced while the kept one was tried is not put back', async () => {
  const given = { kind: 'oneroster', url: 'https://mis.example/one', tokenUrl: undefined, clientId: 'a' } as const;
  await set({ ...given, clientSecret: 'first' });
  const tried = await prepareSource({ db, seal, providers: undefined }, estab, { ...given, url: 'https://mis.example/two', clientSecret: '' });
  await set({ ...given, clientSecret: 'second' });
  await assert.rejects(set(tried.setup), /changed by somebody else while this one was tried/);
  const again = await prepareSource({ db, seal, providers: undefined }, estab, { ...given, url: 'https://mis.example/two', clientSecret: '' });
  await set(again.setup);
  assert.deepEqual(await readSettings(db, seal, estab), { ...given, url: 'https://mis.example/two', clientSecret: 'second' });
  await set({ kind: 'none' });
});

test('a test that fails speaks of the field, as the page does', async () => {
  const answer = await admin.post(`${path}/test`, { kind: 'folder', folder: 'relative' });
  assert.match(problemIn(answer.text), /Folder &#34;relative&#34;: must be an absolute path/);
});

test('one that does not work is not saved, why is said, and what was typed stays, but the secret', async () => {
  const wrong: [fields: Record<string, string>, status: number, words: RegExp, tested?: number][] = [
    [{ ...right(), clientSecret: 'wrong-secret-value' }, 422, /Nothing was saved: .*401/],
    [{ ...right(), url: 'http://10.0.0.1/ims/oneroster/v1p1' }, 422, /Nothing was saved: .*not a public address/],
    [{ ...right(), url: 'file:///etc/passwd' }, 422, /Nothing was saved: .*http/, 400],
    [{ ...right(), clientSecret: '' }, 422, /client secret/, 400],
    [{ ...right(), scope: 'a"b' }, 422, /scope must be plain text/, 400],
    [{ ...right(), version: '1.3' }, 400, /OneRoster version &#34;1\.3&#34;: must be one of 1\.1, 1\.2/],
    [{ kind: 'folder', folder: 'relative' }, 422, /Nothing was saved: folder &#34;relative&#34;: must be an absolute path/],
    [{ kind: 'folder', folder: '/nowhere/at/all' }, 422, /there is no such folder/],
    [{ kind: 'folder', folder: '' }, 422, /name the folder/],
    [{ kind: 'none' }, 409, /this is the source already/],
    [{ kind: '"><b>' }, 400, /Choose where the data comes from/],
  ];
  for (const [fields, status, words, tested = status] of wrong) {
    for (const verb of status === 422 && fields.kind === 'oneroster' ? ['save', 'test'] : ['save']) {
      const answer = await admin.post(`${path}/${verb}`, fields);
      assert.equal(answer.status, verb === 'save' ? status : tested, `${verb} ${JSON.stringify(fields)}`);
      // A test alone would have saved nothing anyway.
      assert.match(problemIn(answer.text), verb === 'save' ? words : new RegExp(words.source.replace('Nothing was saved: ', '')));
      assert.ok(!answer.text.includes('wrong-secret-value') && !answer.text.includes(secret));
      if (fields.kind === 'oneroster') assert.match(answer.text, new RegExp(`<details open>\\s*<summary>A OneRoster[\\s\\S]*value="${fields.url}"`));
    }
    assert.deepEqual({ ...(await stored()) }, { connector: null, settings: null, sealed: false });
  }
  const [noted] = await trail('school edit');
  const { kind, clientId, clientSecret } = noted?.detail ?? {};
  assert.deepEqual([noted?.outcome, kind, clientId, clientSecret], ['refused', 'oneroster', 'schoolbell|MIS', undefined]);
});

test('a password in an address stands in no trail, also where it keeps the address from being one', async () => {
  const users = ['//hush:hush@hush', '//hush:hu/hush', '//hush:hu#hush', '//hush:hu?hush', '//hush:"\'hush', 'hush:hush', '//hush:hush hush', 'hush:hush hush'];
  for (const user of [...users.map((one) => `https:${one}`), 'hush:hush', 'hush:hush hush']) {
    for (const verb of ['save', 'test']) {
      const refused = await admin.post(`${path}/${verb}`, { ...right(), url: `${user}@mis.example/ims` });
      assert.match(problemIn(refused.text), /The URL (?:must|has no valid host)/, user);
      assert.doesNotMatch(problemIn(refused.text), /hush/, user);
    }
    const noted = JSON.stringify(await db`select * from audit_event where estab = ${estab}`);
    assert.match(noted, /mis\.example\/ims/);
    assert.doesNotMatch(noted, /hush/, user);
  }
});

test('a test alone says what is there and saves nothing', async () => {
  const tested = await admin.post(`${path}/test`, right());
  assert.equal(tested.status, 200);
  const notice = /id="notice"[\s\S]*It works: The provider answers in OneRoster 1\.1, with 1 orgs, [^<]*8 users[^<]*Nothing was saved\. Type the client secret/;
  assert.match(tested.text, notice);
  assert.match(tested.text, /; its tokens are from http[^<]*\/token\. Nothing was saved/);
  assert.match(tested.text, new RegExp(`value="${provider.url}`));
  assert.ok(!tested.text.includes(secret));
  assert.equal((await stored())?.connector, null);
  assert.equal((await trail('school source')).at(-1)?.outcome, 'done');
});

test('a provider is saved sealed and asked for; an empty secret keeps the old one, but not for another address', async () => {
  const saved = await admin.post(`${path}/save`, right());
  assert.deepEqual([saved.status, saved.location], [303, `${path}?done=schools-estab-source-save`]);
  assert.deepEqual([(await stored())?.connector, (await stored())?.sealed, await wanted()], ['oneroster', true, ['collect SchoolData']]);
  const text = await shown();
  assert.match(text, /Client ID<\/dt><dd><span class="id">schoolbell\|MIS/);
  assert.match(text, /Stored encrypted; it is never shown/);
  assert.ok(!text.includes(secret));
  assert.match(text, /Address for tokens<\/dt><dd>Found out when it is read/);
  assert.match(text, /OneRoster version<\/dt><dd>Found out when it is read[\s\S]*<option value="" selected>Find out/);
  const left = { tokenUrl: 'https://mis.example/t', found: { url: right().url, version: '1.2' } };
  await db`update connector_setting set state = ${db.json(left)} where estab = ${estab}`;
  assert.match(await shown(), /tokens<\/dt><dd><span class="id">https:\/\/mis\.example\/t<\/span>, as was found out/);
  assert.match(await shown(), /OneRoster version<\/dt><dd>1\.2, as was found out/);
  const scope = 'https://purl.imsglobal.org/spec/or/v1p1/scope/roster-core.readonly';
  const again = await admin.post(`${path}/save`, { ...right(), clientSecret: '', version: '1.1', scope });
  assert.equal(again.status, 303, problemIn(again.text));
  assert.deepEqual((await stored())?.settings, { url: right().url, version: '1.1', scope });
  assert.match(await shown(), new RegExp(`OneRoster version</dt><dd>1.1<[\\s\\S]*class="id">${scope}<[\\s\\S]*value="1.1" selected[\\s\\S]*value="${scope}"`));
  const { version, scope: noted } = (await trail('school edit')).at(-1)?.detail ?? {};
  assert.deepEqual([version, noted], ['1.1', scope]);
  for (const fields of [{ url: `http://127.0.0.1:9${rootB}` }, { tokenUrl: 'http://127.0.0.1:9/token' }]) {
    const refused = await admin.post(`${path}/save`, { ...right(), ...fields, clientSecret: '' });
    assert.equal(refused.status, 422);
    assert.match(problemIn(refused.text), /type the client secret again/);
  }
  // And away from it: what is there stays, the credentials go.
  await db`update component_database set updated_at = now() where estab = ${estab}`;
  assert.match(text, /the credentials of the provider are erased/);
  assert.equal((await admin.post(`${path}/save`, { kind: 'none' })).status, 303);
  assert.deepEqual({ ...(await stored()) }, { connector: null, settings: null, sealed: false });
  assert.deepEqual([await wanted(), (await db`select status from component_database where estab = ${estab}`)[0]?.status], [[], 'OK']);
});

test('a folder is looked into, and a path is text whatever stands in it', async () => {
  const folder = mkdtempSync(join(service.dataDir, 'folder-<b>'));
  const empty = await admin.post(`${path}/test`, { kind: 'folder', folder });
  assert.match(empty.text, /no package that can be read yet: There is no package/);
  for (const { name, open } of smallPackage().files.values()) writeFileSync(join(folder, name), await buffer(await open()));
  assert.match((await admin.post(`${path}/test`, { kind: 'folder', folder })).text, /The folder has a package with [^<]*users\.csv/);
  assert.equal((await admin.post(`${path}/save`, { kind: 'folder', folder })).status, 303);
  assert.deepEqual([await wanted(), (await stored())?.settings], [['collect SchoolData'], { folder }]);
  const text = await shown();
  assert.match(text, /folder-&#60;b&#62;/);
  assert.doesNotMatch(text, /folder-<b>/);
  assert.equal((await admin.post(`${path}/save`, { kind: 'folder', folder })).status, 409, 'it is the source already');
  assert.equal((await admin.post(`${path}/save`, { kind: 'uploads' })).status, 303);
});

test('the MIS of one demo school is told how to behave, and that of no other', async () => {
  const other = `${estab}-other`;
  await service.addSchool(other);
  await db.begin((tx) => saveSource(tx, seal, other, { kind: 'demo' }));
  assert.equal((await admin.post(`${path}/demo-mode`, { mode: 'slow' })).status, 409);
  await set({ kind: 'demo' });
  assert.equal((await admin.post(`${path}/demo-mode`, { mode: 'wild' })).status, 400);
  assert.equal((await admin.post(`${path}/demo-mode`, { mode: 'offline' })).location, `${path}?done=schools-estab-source-demo-mode`);
  assert.match(await shown(), /id="demo-mode">offline</);
  assert.match((await admin.get(`/console/schools/${other}/source`)).text, /id="demo-mode">normal</);
});

test('a collection is asked for, of everything or of one database, and followed while it goes on', async () => {
  await set({ kind: 'demo' });
  await db`update component_database set refreshing_since = null where estab = ${estab}`;
  await db`update outbox set state = 'done', settled_at = now() where estab = ${estab}`;
  assert.doesNotMatch(await shown(), /data-follow/);
  assert.equal((await admin.post(`${path}/collect`, { database: 'Nonsense' })).status, 400);
  assert.equal((await admin.post(`${path}/collect`, { database: 'Attendance' })).location, `${path}?done=schools-estab-source-collect`);
  assert.deepEqual(await wanted(), ['collect Attendance']);
  assert.equal((await admin.post(`${path}/collect`)).status, 303);
  assert.deepEqual(await wanted(), ['collect Attendance', 'collect SchoolData']);
  await db`update component_database set progress = 0.4 where estab = ${estab} and name = 'SchoolData'`;
  const answer = await admin.get(path);
  assert.match(answer.headers.get('content-security-policy') ?? '', /script-src 'self'/);
  assert.match(answer.text, /<script src="\/follow\.js" defer>/);
  assert.match(answer.text, /data-follow/);
  assert.match(answer.text, /id="database-SchoolData"[\s\S]*id="progress-SchoolData" value="0\.4"[\s\S]*40 %[\s\S]*class="again">Look again/);
  assert.match(answer.text, /id="times-SchoolData" data-live[\s\S]*id="after" data-live[\s\S]*id="imports" data-live[\s\S]*badge wait">Waiting/);
  assert.doesNotMatch(answer.text, /id="collect"/, 'all of them are being collected already');
});

test('a page that shows a collection under way is followed to its end, which comes after that of its database', async () => {
  await set({ kind: 'csv', folder: service.dataDir });
  await db`update component_database set refreshing_since = null, status = 'OK' where estab = ${estab}`;
  const follows = async (state: string) => {
    await db`update outbox set state = ${state} where estab = ${estab} and topic = 'collect SchoolData'`;
    return (await shown()).includes('data-follow');
  };
  assert.deepEqual([await follows('running'), await follows('waiting'), await follows('done')], [true, false, false]);
});

test('the collections before are listed by key, with what was said of each', async () => {
  await set({ kind: 'csv', folder: service.dataDir });
  await db`
    insert into outbox (estab, id, kind, lane, topic, payload, state, due_at, settled_at)
    select ${estab}, 'old-' || n, 'collect', (select lane from outbox where estab = ${estab} limit 1), 'collect SchoolData',
      '{"database": "SchoolData", "full": true}', 'failed', now(), now() from generate_series(1, 30) n`;
  await db`insert into outbox_attempt (estab, id, number, success, detail) values (${estab}, 'old-30', 1, false, '{"message": "<i>away</i>"}')`;
  const first = await shown();
  assert.match(first, /href="\/console\/work\/old-30"[\s\S]*&#60;i&#62;away/);
  assert.equal([...first.matchAll(/\/console\/work\/old-/g)].length, 20);
  const [, next = ''] = /href="([^"]*before=\d+)" rel="next"/.exec(first) ?? [];
  const second = (await admin.get(next)).text;
  assert.equal([...second.matchAll(/\/console\/work\/old-/g)].length, 10);
  assert.doesNotMatch(second, /old-11"/);
  for (const wrong of ['%3Cb%3E', '9'.repeat(30), '-1', '1e400', '%00']) assert.ok((await admin.get(`${path}?before=${wrong}`)).status < 500, wrong);
  assert.match((await admin.get(`${path}?before=0.5`)).text, /id="collections"/);
});

test('a collection that is tried again says when, sooner than the night', async () => {
  await set({ kind: 'csv', folder: service.dataDir });
  await db`update outbox set due_at = now() + interval '350 seconds', attempts = 1 where estab = ${estab} and topic = 'collect SchoolData'`;
  await db`update component_database set refreshing_since = null, status = 'Error', refresh_at = now() + interval '18 hours 30 minutes' where estab = ${estab}`;
  const text = await shown();
  assert.match(text, /id="times-SchoolData"[^]*?Collected again<\/dt><dd><time[^>]*>in 5 minutes/);
  assert.match(text, /id="collections"[^]*Waiting<\/span> due <time[^>]*>in 5 minutes/);
  await db`delete from outbox where estab = ${estab}`;
  assert.match(await shown(), /id="times-SchoolData"[^]*?Collected again<\/dt><dd><time[^>]*>in 18 hours/);
});

test('a viewer sees all of it and no form; a school that is not there is a 404', async () => {
  await set({ kind: 'demo' });
  for (const page of ['source', 'source/upload', 'imports', 'held']) {
    const { status, text } = await viewer.get(`/console/schools/${estab}/${page}`);
    assert.equal(status, 200, page);
    assert.deepEqual([...text.matchAll(/<form method="post"[^>]*id="([^"]*)"/g)].map(([, id]) => id), ['sign-out'], page);
    for (const nobody of ['nobody%2F%25', 'a'.repeat(255), '%F0%9F%94%94'])
      assert.equal((await viewer.get(`/console/schools/${nobody}/${page}`)).status, 404, nobody);
    assert.ok((await viewer.get(`/console/schools/%00/${page}`)).status < 500);
  }
});

test('a real collection ends on the page, with its row', async () => {
  await db`update outbox set state = 'cancelled', settled_at = now() where estab <> ${estab}`;
  await admin.post(`${path}/save`, right());
  await service.work();
  await until('it is settled', async () => (await db`select from outbox where estab = ${estab} and kind = 'collect' and state = 'done'`).length === 1);
  const text = await shown();
  assert.match(text, /badge good">Up to date[\s\S]*Last collected[\s\S]*Fresh until[\s\S]*Collected again/);
  assert.match(text, /id="outcome">[\s\S]*Provider[\s\S]*Imported/);
  assert.match(text, /id="collections"[\s\S]*badge good">Done/);
});
