// The pages of deliveries and targets: what is found there, what can be done, and that nothing a receiver sends is more than text.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { enter, readToEnd } from '../../../test/console.ts';
import { useDelivering, useReceiver, type School } from '../../../test/delivery.ts';
import { until } from '../../../test/until.ts';
import { enqueueOneOff } from '../../notifications/one-off.ts';

const delivering = await useDelivering();
const { service, db, change, register, settled, rows } = delivering;
const [admin, viewer] = [await enter(service, 'admin'), await enter(service, 'viewer')];
const receiver = await useReceiver();
let school: School;

beforeEach(async () => {
  await delivering.clear();
  school = await delivering.addSchool();
  receiver.arrivals = [];
  receiver.answer = () => 200;
});

/** A delivery that has been tried once and was answered so. */
async function fail(answer: typeof receiver.answer = () => 500): Promise<{ id: string; target: string }> {
  const target = await register(school, `${receiver.origin}/hook?a=1&b=2`);
  receiver.answer = answer;
  await change(school.estab);
  await settled(school.estab);
  return { id: (await rows(school.estab))[0]?.id ?? '', target };
}

/** Of each attempt, the last first, the tone and the word of what became of it. */
const outcomesOf = (text: string) => [...text.matchAll(/id="attempt-\d+">[^]*?<span class="badge (\w+)">([^<]+)</g)].map(([, tone, word]) => `${tone} ${word}`);
const main = (text: string) => text.slice(text.indexOf('<main'));
const shownIds = (text: string) => [...text.matchAll(/href="\/console\/deliveries\/(msg_[\w-]+)"/g)].map(([, id]) => id);

test('the list is narrowed by school, application, kind, state and time; a wrong value is left out or said', async () => {
  const { id } = await fail();
  await db.begin((tx) => enqueueOneOff(tx, { estab: school.estab, rp: school.rp, event: 'writeback', url: `${receiver.origin}/w`, body: {} }));
  const second = await delivering.addSchool();
  await register(second, `${receiver.origin}/other`);
  await change(second.estab);
  await settled(second.estab);
  const count = async (query: string) => shownIds((await viewer.get(`/console/deliveries${query}`)).text).length;
  assert.equal(await count(''), 3);
  assert.deepEqual(shownIds((await viewer.get(`/console/deliveries?rp=${school.rp}&kind=database`)).text), [id]);
  for (const [query, expected] of [
    [`?estab=${school.estab}`, 2], [`?estab=${second.estab}`, 1], [`?estab=nobody`, 0], [`?rp=${second.rp}`, 1], ['?rp=nobody', 0], ['?kind=writeback', 1],
    ['?kind=odd', 3], ['?state=odd', 3], ['?state=cancelled', 0], ['?since=2099-01-01T00:00', 0], ['?until=2001-01-01', 0], ['?before=odd', 3],
    ['?target=odd', 3],
  ] as const)
    assert.equal(await count(query), expected, query);
  assert.equal((await viewer.get('/console/deliveries?estab=%00')).status, 400);
  const odd = await viewer.get('/console/deliveries?since=yesterday&until=%3Cb%3E');
  assert.equal(odd.status, 200);
  assert.match(odd.text, /since: &#34;yesterday&#34; is not a time/);
  assert.doesNotMatch(odd.text, /<b>/);
  assert.match((await viewer.get('/console/deliveries?state=cancelled')).text, /There is no delivery like that/);
  const [webhook] = await db<{ id: string }[]>`select id from webhook where rp = ${second.rp}`;
  const { text } = await viewer.get(`/console/deliveries?target=${webhook?.id}&kind=database`);
  assert.equal(shownIds(text).length, 1);
  assert.match(text, new RegExp(`id="narrowed"[^]*href="/console/targets/${webhook?.id}"[^]*${receiver.origin}/other`), 'the target is named');
  assert.match(text, /href="\/console\/deliveries\?kind=database">Show those to all targets/);
  assert.match(text, new RegExp(`<input type="hidden" name="target" value="${webhook?.id}">`), 'and kept by what else is chosen');
  assert.doesNotMatch((await viewer.get('/console/deliveries')).text, /id="narrowed"/);
});

test('pages follow one another by key, with what was asked for', async () => {
  const { id } = await fail();
  await db`
    insert into outbox (estab, id, rp, kind, lane, payload, state, due_at, created_at, settled_at)
    select estab, 'msg_copy' || n, rp, kind, lane, payload, 'failed', now(), created_at - make_interval(secs => n), now()
    from outbox, generate_series(1, 70) n where id = ${id}`;
  const first = (await viewer.get(`/console/deliveries?state=failed&rp=${school.rp}`)).text;
  const next = /<a href="([^"]+)" rel="next">Next page/.exec(first)?.[1]?.replaceAll('&#38;', '&') ?? '';
  assert.match(next, /state=failed/);
  const second = (await viewer.get(next)).text;
  assert.equal(new Set([...shownIds(first), ...shownIds(second)]).size, 70);
  assert.match(second, /First page/);
  assert.doesNotMatch(second, /rel="next"/);
  for (const time of ['2026-02-31T00:00:00', '0000-01-01T00:00:00', '2026-01-01T24:00:00', '2026-01-01T23:59:60'])
    assert.equal((await viewer.get(`/console/deliveries?before=${encodeURIComponent(`${time}.000000Z,${id}`)}`)).status, 200, time);
});

test('one delivery: why it failed and what to do, every attempt with request, answer and timings, and no secret', async () => {
  const { id, target } = await fail((_, response) => void response.writeHead(503, { 'x-trace': 'abc', 'set-cookie': 'a=b' }).end('{"why": "full"}'));
  await delivering.hurry(school.estab);
  await settled(school.estab);
  const { text } = await viewer.get(`/console/deliveries/${id}`);
  assert.match(text, /The receiver answered 503\./);
  assert.match(text, /down or overloaded/);
  assert.deepEqual(outcomesOf(text), ['bad Failed', 'bad Failed']);
  assert.match(text, /\/hook\?a=1&#38;b=2/);
  assert.match(text, /x-trace: abc/);
  assert.doesNotMatch(text, /set-cookie|whsec_/);
  assert.match(text, /\{&#34;why&#34;: &#34;full&#34;\}/);
  assert.match(text, /webhook-signature: v1,.{10,12}…/);
  const [log] = await db<{ signature: string }[]>`
    select detail -> 'request' -> 'headers' ->> 'webhook-signature' as signature from outbox_attempt where number = 1`;
  assert.ok(log && !text.includes(log.signature.replaceAll('+', '&#43;')) && !text.includes(log.signature));
  assert.match(text, /\d ms in all/);
  assert.match(text, /Next try/);
  for (const href of [`/console/targets/${target}`, `/console/schools/${school.estab}`, `/console/applications/${school.rp}`])
    assert.ok(text.includes(`href="${href}"`), href);
  assert.doesNotMatch(text, /<form[^>]*replay/, 'a viewer changes nothing');
  assert.equal((await viewer.get('/console/deliveries/msg_nobody')).status, 404);
  assert.equal((await viewer.get('/console/deliveries/%00%2f')).status, 404);
});

test('a body is shown where it is JSON, and looking at what names pupils is written down; a form is never shown', async () => {
  const url = `${receiver.origin}/w`;
  const body = { Marks: [{ StudentId: 'S-1', Mark: '<b>/' }] };
  const id = await db.begin((tx) => enqueueOneOff(tx, { estab: school.estab, rp: school.rp, event: 'writeback', url, body }));
  await settled(school.estab);
  for (let time = 0; time < 3; time += 1) await viewer.get(`/console/deliveries/${id}`);
  const { text } = await viewer.get(`/console/deliveries/${id}`);
  assert.match(text, /&#34;Marks&#34;: \[\n {4}\{\n/);
  assert.doesNotMatch(text, /<b>/);
  const looks = await db`select estab, rp, subject, detail from audit_event where action = 'look at delivery'`;
  assert.deepEqual(looks.map((one) => ({ ...one })), [{ estab: school.estab, rp: school.rp, subject: id, detail: { times: 4 } }]);
  await db`update outbox set payload = payload || '{"contentType": "application/x-www-form-urlencoded"}' where id = ${id}`;
  const form = (await viewer.get(`/console/deliveries/${id}`)).text;
  assert.doesNotMatch(form, /Marks/);
  assert.match(form, /a form can hold what a person typed/);
});

const bidi = '\u202eevil\u2066';
for (const [name, answer, shown] of [
  ['markup', Buffer.from('<script>alert(1)</script><img src=x onerror=alert(2)>'), /&#60;script&#62;alert\(1\)/],
  ['codes of a terminal', Buffer.from('\x1b[2Jred\x07'), /\ufffd\[2Jred\ufffd/],
  ['marks that turn the writing', Buffer.from(bidi), /\\u202eevil\\u2066/],
  ['what is no text', Buffer.from([0xff, 0xfe, 0, 1, 2]), /5 bytes that are no text, beginning with fffe000102/],
  ['half a character', Buffer.concat([Buffer.from('ok'), Buffer.from([0xe2, 0x82])]), /4 bytes that are no text/],
  ['a whole lot', Buffer.alloc(60_000, 'x'), /x{1000}/],
] as const)
  test(`an answer with ${name} is text, and steers nothing`, async () => {
    const { id } = await fail((_, response) => {
      response.setHeader('x-odd', '<script>alert(3)</script>');
      response.setHeader('x-long', 'y'.repeat(9_000));
      response.writeHead(500, '<b>no</b>').end(answer);
    });
    for (const path of [`/console/deliveries/${id}`, '/console/deliveries', '/console/deliveries/tail']) {
      const { text, headers } = await admin.get(path);
      assert.doesNotMatch(text, /<script>|<img|<b>|[\p{Cc}--\n]|[\u202a-\u202e\u2066-\u2069]/v);
      assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/);
      assert.ok(text.length < 60_000, String(text.length));
    }
    const { text } = await admin.get(`/console/deliveries/${id}`);
    assert.match(text, shown);
    assert.match(text, /x-odd: &#60;script&#62;/);
    assert.doesNotMatch(text, /y{501}/);
  });

test('a URL, an event, an error and a reason with markup or marks that turn the writing are text, and no link', async () => {
  const { id, target } = await fail();
  const odd = `javascript:alert(1)//<script>${bidi}\u0085`;
  await db`update outbox set payload = payload || ${db.json({ url: odd, event: odd, method: odd })} where estab = ${school.estab}`;
  const detail = { message: odd, address: odd, request: { url: odd, method: odd, headers: { [odd]: odd } } };
  await db`update outbox_attempt set error_class = ${odd}, detail = detail || ${db.json(detail)} where estab = ${school.estab}`;
  await db`update lane set disabled_at = now(), disabled_why = ${odd}, paused_at = now(), paused_by = '<i>' where key = ${`webhook ${target}`}`;
  await db`update webhook set url = ${odd}`;
  for (const path of ['', '/tail', `/${id}`].map((end) => `/console/deliveries${end}`).concat('/console/targets', `/console/targets/${target}`)) {
    const { text, status } = await admin.get(path);
    assert.equal(status, 200, path);
    assert.doesNotMatch(text, /<script>|<i>|href="javascript|[\u0085\u202a-\u202e\u2066-\u2069]/, path);
  }
});

test('replayed by its button; by a viewer not; what is refused is said on its page; the trail has it', async () => {
  const { id } = await fail();
  await db`update outbox set state = 'failed', settled_at = now() where id = ${id}`;
  receiver.answer = () => 200;
  assert.equal((await viewer.post(`/console/deliveries/${id}/replay`)).status, 403);
  const { status, location } = await admin.post(`/console/deliveries/${id}/replay`);
  assert.deepEqual([status, location], [303, `/console/deliveries/${id}?done=deliveries-id-replay`]);
  await settled(school.estab);
  const { text } = await admin.get(location ?? '');
  assert.match(text, /It is sent again, under the same webhook-id/);
  assert.match(text, /Delivered/);
  assert.deepEqual(outcomesOf(text), ['good Taken', 'bad Failed']);
  assert.equal(new Set(receiver.arrivals.map((one) => one.id)).size, 1);
  await db`update authorisation set state = 'Paused' where estab = ${school.estab}`;
  const refused = await admin.post(`/console/deliveries/${id}/replay`);
  assert.equal(refused.status, 409);
  assert.match(refused.text, /There is a problem.*is not authorised/s);
  const trail = await db`select actor, subject, outcome from audit_event where action = 'replay' order by number`;
  const expected = [['viewer', 'refused'], ['admin', 'done'], ['admin', 'refused']].map(([actor, outcome]) => ({ actor, subject: id, outcome }));
  assert.deepEqual(trail.map((one) => ({ ...one })), expected);
});

test('what failed since a time is replayed: of all, of an application, of a target; how many is said', async () => {
  const { target } = await fail();
  const second = await delivering.addSchool();
  await register(second, `${receiver.origin}/second`);
  await change(second.estab);
  await settled(second.estab);
  const failAll = () => db`update outbox set state = 'failed', settled_at = now() where kind = 'call' and payload ->> 'event' = 'database'`;
  const waiting = async () =>
    (await db<{ rp: string }[]>`select rp from outbox where state <> 'failed' and payload ->> 'event' = 'database' order by rp`).map(({ rp }) => rp);
  // Nobody takes them meanwhile.
  await db`update lane set paused_at = now()`;
  const post = async (path: string, fields: Record<string, string>) => {
    await failAll();
    const { location } = await admin.post(path, fields);
    return { replayed: await waiting(), said: main((await admin.get(location ?? '')).text) };
  };
  const since = '2020-01-01T00:00';
  const everything = await post('/console/deliveries/replay-failed', { 'failed-since': since, of: '' });
  assert.deepEqual(everything.replayed, [school.rp, second.rp]);
  assert.match(everything.said, /2 deliveries will be sent again/);
  const one = await post('/console/deliveries/replay-failed', { 'failed-since': since, of: second.rp });
  assert.deepEqual(one.replayed, [second.rp]);
  assert.match(one.said, /1 delivery will be sent again/);
  const here = await post(`/console/targets/${target}/replay-failed`, { 'failed-since': since });
  assert.deepEqual(here.replayed, [school.rp]);
  const none = await post('/console/deliveries/replay-failed', { 'failed-since': '2099-01-01T00:00', of: '' });
  assert.deepEqual(none.replayed, []);
  assert.match(none.said, /Nothing that could be sent again/);
  await db`update lane set disabled_at = now(), disabled_why = 'gone' where key = ${`webhook ${target}`}`;
  assert.match((await post('/console/deliveries/replay-failed', { 'failed-since': since, of: '' })).said, /1 delivery of a disabled target stays as it is/);
  for (const [typed, words] of [['', /Say since when/], ['soon', /is not a time/]] as const) {
    const refused = await admin.post('/console/deliveries/replay-failed', { 'failed-since': typed, of: '' });
    assert.equal(refused.status, 400);
    assert.match(refused.text, words);
  }
});

test('a target is paused, resumed, enabled and tested on its page; a viewer sees it and has no buttons', async () => {
  const { target } = await fail(() => 410);
  const page = `/console/targets/${target}`;
  const look = async () => main((await admin.get(page)).text);
  assert.match(await look(), /Disabled.*the receiver answered 410 Gone.*Enable it again/s);
  for (const [verb, words] of [
    ['pause', /Disabled.*Paused.*by Operator admin/s],
    ['resume', /Disabled/],
    ['enable', />OK</],
    ['pause', /Paused.*Resume/s],
    ['resume', />OK</],
  ] as const) {
    assert.equal((await admin.post(`${page}/${verb}`)).location, `${page}?done=targets-id-${verb}`, verb);
    assert.match(await look(), words, verb);
  }
  receiver.answer = () => 200;
  const { location } = await admin.post(`${page}/test`);
  await settled(school.estab);
  assert.match(main((await admin.get(location ?? '')).text), /A test is sent.*Delivered/s);
  assert.match(await look(), /Last success<\/dt><dd><time/);
  const again = await admin.post(`${page}/resume`);
  assert.deepEqual([again.status, /This target is not paused/.test(again.text)], [409, true]);
  assert.doesNotMatch(main((await viewer.get(page)).text), /<form/);
  const trail = await db<{ action: string }[]>`
    select action from audit_event where subject = ${target} and outcome = 'done' and estab = ${school.estab} and rp = ${school.rp} order by number`;
  assert.deepEqual(trail.map(({ action }) => action), ['pause', 'resume', 'enable', 'pause', 'resume', 'test'].map((verb) => `target ${verb}`));
});

test('a callback URL is tested on its page and by the command: a form without a school or a secret, marked as a test', async () => {
  await db`update application set callback_url = ${`${receiver.origin}/callback?x=1`} where rp = ${school.rp}`;
  const page = `/console/targets/${encodeURIComponent(`callback:${school.rp}`)}`;
  assert.match(main((await admin.get(page)).text), /<form[^>]*\/test"[^>]*>[^]*?Send a test/);
  assert.doesNotMatch(main((await viewer.get(page)).text), /<form/);
  const { location } = await admin.post(`${page}/test`);
  const arrived = () => receiver.arrivals.filter(({ url }) => url === '/callback?x=1');
  await until('the test arrives', () => arrived().length === 1);
  const [got] = arrived();
  assert.deepEqual([got?.method, got?.headers['schoolbell-test'], got?.headers['content-type']], ['POST', 'true', 'application/x-www-form-urlencoded']);
  const form = Object.fromEntries(new URLSearchParams(got?.body.toString() ?? '')) as Record<string, string>;
  assert.deepEqual([form.status, form.partnerId, form.schoolId, 'schoolSecret' in form, 'installcomplete' in form], ['Test', school.rp, '', false, false]);
  await until('it is settled', async () => / class="badge good">Delivered/.test((await admin.get(location ?? '')).text));
  assert.match((await admin.get(location ?? '')).text, /A test is sent/);

  receiver.answer = () => 500;
  const { data } = await delivering.run('target test', {}, `callback:${school.rp}`);
  const { delivery } = data as { delivery: string };
  await until('it has failed', async () => (await db`select from outbox where id = ${delivery} and state = 'failed'`).length === 1);
  receiver.answer = () => 200;
  assert.equal((await admin.post(`/console/deliveries/${delivery}/replay`)).status, 303, 'it can be sent again');
  await until('it arrives', async () => (await db`select from outbox where id = ${delivery} and state = 'done'`).length === 1);
  await admin.post(`${page}/pause`);
  assert.doesNotMatch(main((await admin.get(page)).text), /Send a test/);
  assert.equal((await admin.post(`${page}/test`)).status, 409);
});

test('a new target does not claim that nothing arrived in 30 days; an old one does', async () => {
  const target = await register(school, `${receiver.origin}/hook`);
  const shown = async (id: string) => (await admin.get(`/console/targets/${encodeURIComponent(id)}`)).text;
  const said = async (id: string) => /Last success<\/dt><dd>([^]*?)<\/dd>/.exec(await shown(id))?.[1] ?? '';
  for (const id of [target, `callback:${school.rp}`]) assert.match(await said(id), /^none since it was added, <time/, id);
  await db`update webhook set created_at = now() - interval '31 days'`;
  await db`update application set created_at = now() - interval '31 days'`;
  for (const id of [target, `callback:${school.rp}`]) assert.match(await said(id), /none in 30 days/, id);
});

test('targets are listed with what they are of, and narrowed by state; one-off URLs are one target for each origin', async () => {
  const { target } = await fail();
  await db.begin((tx) => enqueueOneOff(tx, { estab: school.estab, rp: school.rp, event: 'writeback', url: `${receiver.origin}/pupil/42`, body: {} }));
  const { text } = await viewer.get('/console/targets');
  const id = encodeURIComponent(`one-off:${school.rp}:${receiver.origin}`);
  for (const href of [`/console/targets/${target}`, `/console/targets/callback%3A${school.rp}`, `/console/targets/${id}`])
    assert.ok(text.includes(`href="${href}"`), href);
  assert.doesNotMatch(text, /pupil\/42/);
  const one = await viewer.get(`/console/targets/${id}`);
  assert.equal(one.status, 200);
  assert.match(one.text, /One-off URLs of/);
  assert.match(main((await viewer.get('/console/targets?state=failing')).text), new RegExp(target));
  assert.match(main((await viewer.get('/console/targets?state=disabled')).text), /No target is in this state/);
  for (const odd of ['/console/targets?state=odd&after=odd', '/console/targets?rp=nobody&estab=%27']) assert.equal((await viewer.get(odd)).status, 200);
  for (const odd of ['nobody', 'callback%3Anobody', 'one-off%3Aa%3Ahttps%3A%2F%2Fx', '%00', '..%2f..'])
    assert.equal((await viewer.get(`/console/targets/${odd}`)).status, 404, odd);
});

test('targets come page by page, each once', async () => {
  const { target } = await fail();
  await db`insert into application (rp, name, callback_url, required_scopes, optional_scopes, client_id)
    select 'many-' || n, 'One of many', 'https://many.example/', '{School}', '{}', 'many-' || n from generate_series(1, 120) n`;
  const seen = (await readToEnd(viewer, '/console/targets')).flatMap((text) => [...text.matchAll(/href="\/console\/targets\/([^"]+)"/g)].map(([, id]) => id));
  assert.equal(seen.length, new Set(seen).size);
  assert.deepEqual([seen.includes(target), seen.filter((id) => id?.startsWith('callback%3Amany-')).length], [true, 120]);
  await db`delete from application where name = 'One of many'`;
});

test('the tail shows the newest, of one application if asked, goes on by itself until it is stopped, and has a link to look again', async () => {
  const { id } = await fail();
  const going = await viewer.get('/console/deliveries/tail');
  assert.match(going.text, /data-follow/);
  assert.match(going.text, /follow\.js/);
  assert.match(going.text, /Look again/);
  assert.deepEqual(shownIds(going.text), [id]);
  const stopped = await viewer.get(`/console/deliveries/tail?rp=${school.rp}&stopped=yes`);
  assert.doesNotMatch(stopped.text, /data-follow|follow\.js/);
  assert.match(stopped.text, new RegExp(`href="/console/deliveries/tail\\?rp=${school.rp}">Go on`));
  assert.deepEqual(shownIds((await viewer.get('/console/deliveries/tail?rp=nobody')).text), []);
});
