// Covers the first page of the console: each kind of thing that needs a person is there with the way to it, and gone when it
// is mended; the command says the same; how schools stand; charts of nothing, of one and of many; and before there is anything.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { useCommands } from '../../../test/commands.ts';
import { useConsole } from '../../../test/console.ts';
import { testSecretKey } from '../../../test/service.ts';
import { commands } from '../../command-line.ts';
import { readConfig } from '../../config.ts';
import { html } from '../../http/html.ts';
import { expireInvitations, invite } from '../../onboarding/invitations.ts';
import { countDeliveryHours } from '../../outbox/delivery-hours.ts';
import type { Finding } from '../../needs/finding.ts';
import { findNeeds, type Need, type NeedsOfKind } from '../../needs/needs.ts';

const { service, enter } = await useConsole();
const { db, url } = service;
const [admin, viewer] = [await enter('admin'), await enter('viewer')];
const settings = { DATABASE_URL: service.databaseUrl, DATA_DIR: service.dataDir, SECRET_KEY: testSecretKey };
const { run } = useCommands(settings);
const hostile = `<img src=x onerror=alert(1)>"&'`;

const page = async () => {
  const { status, text } = await admin.get('/console');
  assert.equal(status, 200);
  return text;
};
/** The part of the page about one kind, if there is one. */
const kindOn = (text: string, kind: string) => new RegExp(`<section class="need-kind" id="needs-${kind}"[^]*?</section>`).exec(text)?.[0];
/** What this machine and its database server have to say depends on them. */
const ownNeeds = (all: readonly NeedsOfKind[]) => all.filter(({ kind }) => kind !== 'service').flatMap(({ needs }) => needs);
const config = readConfig(settings);
const told = async (): Promise<Need[]> => ownNeeds(await findNeeds({ db, config }));
const checks = async () => (JSON.parse((await run(['status', '--check', '--json'])).out) as { checks: Finding[] }).checks;

test('before there is anything it says how to begin; a viewer is told who does', async () => {
  const text = await page();
  assert.match(text, /id="beginning"[^]*href="\/console\/add-school"[^]*href="\/console\/add-application"/);
  assert.doesNotMatch(text, /id="states"|<svg/);
  const other = await viewer.get('/console');
  assert.match(other.text, /id="beginning"[^]*An admin begins/);
  assert.doesNotMatch(other.text, /add-school|add-application/);
});

test('with a school and nothing wrong, nothing needs anybody', async () => {
  await service.addSchool('3805001');
  await service.addClient('app', ['3805001']);
  await db`update establishment set name = ${hostile} where estab = '3805001'`;
  await db`update application set name = ${hostile} where rp = 'app'`;
  const text = await page();
  assert.deepEqual(await told(), []);
  for (const kind of ['held', 'failing', 'stale', 'target', 'proposal', 'invitation', 'mail']) assert.equal(kindOn(text, kind), undefined, kind);
  if (kindOn(text, 'service') === undefined) assert.match(text, /id="calm"[^]*Nothing needs you now\./);
  else assert.doesNotMatch(text, /Nothing needs you now/);
});

const database = (status: string, more: { expires?: string; told?: string; refreshing?: boolean } = {}) => db`
  insert into component_database (estab, name, status, message, updated_at, expires_at, failing_since, told, refreshing_since)
  values ('3805001', 'SchoolData', ${status}, ${hostile}, now() - interval '3 days', now() + ${more.expires ?? '1 hour'}::interval, now() - interval '2 hours',
    ${more.told ?? null}, ${more.refreshing ? db`now()` : db`null`})
  on conflict (estab, name) do update set status = excluded.status, message = excluded.message, expires_at = excluded.expires_at,
    failing_since = excluded.failing_since, told = excluded.told, refreshing_since = excluded.refreshing_since`;

/** sent: in the outbox, as a mail. */
const mail = (id: string, state: 'failed' | 'waiting' | 'done', attempts = 1) => db`
  with lane as (insert into lane (key, width, lasting) values ('mail', 4, false) on conflict do nothing)
  insert into outbox (estab, id, kind, lane, payload, body, state, due_at, attempts, settled_at)
  values ('3805001', ${id}, 'mail', 'mail', ${db.json({ to: 'office@school.example', subject: hostile })},
    '{"text":"Hello","html":"Hello"}', ${state}, now(), ${attempts},
    ${state === 'waiting' ? db`null` : db`now()`})
  on conflict (estab, id) do update set state = excluded.state, settled_at = excluded.settled_at`;

const lane = (key: string, { disabled = false, openings = 1 } = {}) => db`
  insert into lane (key, host, width, lasting, failures, failing_since, openings, disabled_at, disabled_why)
  values (${key}, 'receiver.example', 4, true, 6, now() - interval '2 hours', ${openings}, ${disabled ? db`now()` : db`null`}, ${disabled ? hostile : null})
  on conflict (key) do update set openings = excluded.openings, failing_since = excluded.failing_since, disabled_at = excluded.disabled_at,
    disabled_why = excluded.disabled_why`;

/** refused: what the commands it names may say here, where less is set up than in life. */
type Case = {
  what: string; kind: string; check: string; way: RegExp; refused?: RegExp;
  break(): PromiseLike<unknown>; mend(): PromiseLike<unknown>;
};
const asked = { rp: 'app', schoolName: hostile, contactEmail: 'a@b.example', reason: null, scopes: undefined } as const;
const webhook = '00000000-0000-4000-8000-0000000000aa';
const cases: Case[] = [
  {
    what: 'an import that is held', kind: 'held', check: 'held imports', way: /href="\/console\/schools\/3805001\/held"/,
    refused: /no import of 3805001 waits/,
    break: () => database('Paused'), mend: () => database('OK'),
  },
  {
    what: 'a school that fails', kind: 'failing', check: 'failing schools', way: /href="\/console\/schools\/3805001"/,
    refused: /is not connected to an MIS/,
    break: () => database('Error'), mend: () => database('OK'),
  },
  {
    what: 'a package that was refused', kind: 'failing', check: 'failing schools', way: /href="\/console\/schools\/3805001"/,
    refused: /is not connected to an MIS/,
    break: () => database('OK', { told: 'refused' }), mend: () => database('OK'),
  },
  {
    what: 'data that is too old', kind: 'stale', check: 'stale schools', way: /href="\/console\/schools\/3805001"/,
    refused: /is not connected to an MIS/,
    break: () => database('OK', { expires: '-3 hours' }), mend: () => database('OK', { expires: '-1 hour' }),
  },
  {
    what: 'a registration that is disabled', kind: 'target', check: 'failing targets', way: new RegExp(`href="/console/targets/${webhook}"`),
    break: () => lane(`webhook ${webhook}`, { disabled: true }), mend: () => db`delete from lane where key = ${`webhook ${webhook}`}`,
  },
  {
    what: 'a callback URL that fails', kind: 'target', check: 'failing targets', way: /href="\/console\/targets\/callback%3Aapp"/,
    break: () => lane('callback app'), mend: () => lane('callback app', { openings: 0 }),
  },
  {
    what: 'one-off URLs that fail', kind: 'target', check: 'failing targets', way: /href="\/console\/targets\/one-off%3Aapp%3Ahttps%3A%2F%2Fr\.example"/,
    break: () => lane('one-off app https://r.example'), mend: () => db`delete from lane where key = 'one-off app https://r.example'`,
  },
  {
    what: 'a school that an application named', kind: 'proposal', check: 'schools to confirm', way: /href="\/console\/schools\/9990001"/,
    refused: /Somebody has vouched/,
    break: () => invite(db, url, { ...asked, estab: '9990001', by: 'application' }),
    mend: () => db`update establishment set confirmed_at = now() where estab = '9990001'`,
  },
  {
    what: 'an invitation that a proposal left unsent', kind: 'unsent', check: 'unsent invitations',
    way: /href="\/console\/schools\/9990003\/applications\/app"/,
    async break() {
      await invite(db, url, { ...asked, estab: '9990003', by: 'application' });
      await db`update establishment set confirmed_at = now() where estab = '9990003'`;
    },
    mend: () => db`update invitation set state = 'Withdrawn' where estab = '9990003'`,
  },
  {
    what: 'an invitation that ends soon', kind: 'invitation', check: 'unanswered invitations', way: /href="\/console\/schools\/9990002\/applications\/app"/,
    async break() {
      await invite(db, url, { ...asked, estab: '9990002', by: 'operator' });
      await db`update invitation set expires_at = now() + interval '2 days' where estab = '9990002'`;
    },
    mend: () => db`update invitation set expires_at = now() + interval '20 days' where estab = '9990002'`,
  },
  {
    what: 'an invitation that has ended', kind: 'invitation', check: 'unanswered invitations', way: /href="\/console\/schools\/9990002\/applications\/app"/,
    async break() {
      await db`update invitation set expires_at = now() - interval '1 minute' where estab = '9990002'`;
      await expireInvitations(db);
    },
    mend: () => invite(db, url, { ...asked, estab: '9990002', by: 'operator' }),
  },
  {
    what: 'a mail that was given up', kind: 'mail', check: 'failing mails', way: /href="\/console\/mail\/msg_1%2F2"/,
    break: () => mail('msg_1/2', 'failed'), mend: () => mail('msg_1/2', 'done'),
  },
  {
    what: 'a mail that fails', kind: 'mail', check: 'failing mails', way: /href="\/console\/mail\/msg_2"/, refused: /not ready to go live/,
    break: () => mail('msg_2', 'waiting'), mend: () => mail('msg_2', 'done'),
  },
];

beforeEach(async () => {
  await db`insert into webhook (estab, id, rp, database_name, url, method)
    select estab, ${webhook}, rp, 'SchoolData', 'https://r.example/', 'POST' from authorisation where estab = '3805001' on conflict do nothing`;
});

const urgencies = new Set<boolean>();
/** Each command that is named as what to do, as it would be typed. */
const commandsOf = ({ todo }: Need) =>
  todo.split(', ').map((part) => part.replace(/^or /, '').split(' ')).filter((words) =>
    // Placeholders such as <zip> stand for values that only the reader knows.
    !words.some((word) => /^<.*>$/.test(word)) && commands.some(({ name }) => name === words[0] || name === `${words[0]} ${words[1]}`));

for (const { what, kind, way, refused, break: spoil, mend } of cases) {
  test(`${what}: told with the way to it and commands that can be run, until it is mended`, async () => {
    await spoil();
    const section = kindOn(await page(), kind);
    assert.match(section ?? '', way);
    assert.ok(!section?.includes('<img'), 'names are text');
    const [need, ...others] = await told();
    assert.deepEqual([need?.kind, others], [kind, []]);
    assert.ok(section?.includes(`<bdi>${html`${need?.what}`.text}</bdi>`));
    // What is the state of a school looks as it does in the list of schools.
    if (!['held', 'proposal'].includes(kind)) {
      assert.equal(/<span class="badge (\w+)">/.exec(section ?? '')?.[1], need?.urgent ? 'bad' : 'wait');
      urgencies.add(need?.urgent ?? false);
    }
    assert.equal((await viewer.get(/<a class="do" href="([^"]+)"/.exec(section ?? '')?.[1] ?? '')).status, 200, 'the way leads somewhere');
    const list = { held: 'state=held', failing: 'state=failing', stale: 'state=stale', proposal: 'state=proposed', invitation: 'with=unanswered' }[kind];
    if (list) assert.ok((await viewer.get(`/console/schools?${list}`)).text.includes(`href="/console/schools/${need?.estab}"`), 'it is among all');
    const lines = need ? commandsOf(need) : [];
    assert.ok(lines.length > 0, need?.todo);
    for (const line of lines) {
      const { code, err } = await run(line);
      assert.ok(code === 0 || refused?.test(err), `${line.join(' ')}: ${err}`);
    }
    await mend();
    assert.equal(kindOn(await page(), kind), undefined);
    assert.deepEqual(await told(), []);
  });
}

test('both were among them: what is urgent and what can wait', () => assert.equal(urgencies.size, 2));

test('the command says the same, and the checks before going live warn of it', async () => {
  const several = cases.filter(({ kind }) => ['held', 'target', 'mail'].includes(kind));
  for (const { break: spoil } of several) await spoil();
  const status = JSON.parse((await run(['status', '--json'])).out) as { needs: NeedsOfKind[] };
  assert.deepEqual(ownNeeds(status.needs), JSON.parse(JSON.stringify(await told())));
  const found = await checks();
  const verdict = (name: string) => found.find(({ check }) => check === name)?.verdict;
  const names = new Set(several.map(({ check }) => check));
  for (const { check } of cases) assert.equal(verdict(check), names.has(check) ? 'warn' : 'ok', check);
  for (const { mend } of several) await mend();
});

test('what is being collected again, failed only once or was paused by an operator needs nobody', async () => {
  await database('Paused', { refreshing: true });
  await lane('callback app', { openings: 0 });
  await lane('one-off app https://paused.example', { disabled: true });
  await db`update lane set paused_at = now() where key = 'one-off app https://paused.example'`;
  assert.deepEqual(await told(), []);
  await database('OK');
});

test('of many, five of each kind are told, with a way to all', async () => {
  for (let at = 0; at < 7; at += 1) {
    await service.addSchool(`many-${at}`);
    await db`
      insert into component_database (estab, name, status, failing_since)
      values (${`many-${at}`}, 'SchoolData', 'Error', now() - make_interval(mins => ${at}))`;
    await mail(`many_${at}`, 'failed');
    await invite(db, url, { ...asked, estab: `many-${at}`, by: 'operator' });
    await lane(`one-off app https://many-${at}.example`);
  }
  await db`update invitation set expires_at = now() + interval '2 days' where starts_with(estab, 'many-')`;
  const text = await page();
  for (const [kind, ...ways] of [
    ['failing', '/console/schools?state=failing'],
    ['invitation', '/console/schools?with=unanswered'],
    ['mail', '/console/mail?state=failed', '/console/mail?state=waiting'],
    ['target', '/console/targets?state=disabled', '/console/targets?state=failing'],
  ] as const) {
    const section = kindOn(text, kind) ?? '';
    assert.equal(section.match(/<li>/g)?.length, 5);
    const more = /<p class="more">And more: [^]*?<\/p>/.exec(section)?.[0] ?? '';
    assert.deepEqual([...more.matchAll(/<a href="([^"]+)">/g)].map(([, way]) => way), ways, kind);
  }
  assert.match((await run(['status'])).out, /^NEEDS A PERSON[^]*many-6[^]*… and more/m);
  assert.match((await checks()).find(({ check }) => check === 'failing schools')?.found ?? '', /; and more$/);
  await db`delete from component_database where starts_with(estab, 'many-')`;
  await db`delete from outbox where starts_with(id, 'many_')`;
  await db`delete from invitation where starts_with(estab, 'many-')`;
  await db`delete from lane where starts_with(key, 'one-off app https://many-')`;
});

test('schools are counted by state and by how fresh their data is, with ways to the lists', async () => {
  await db`insert into component_database (estab, name, updated_at, expires_at, status) values
    ('many-0', 'SchoolData', now(), now() + interval '1 day', 'OK'), ('many-1', 'SchoolData', now(), null, 'OK'),
    ('many-2', 'SchoolData', now(), now() - interval '1 minute', 'OK'), ('many-3', 'SchoolData', null, null, 'NoData'),
    ('many-4', 'SchoolData', now(), now() - interval '1 minute', 'Error'), ('many-4', 'Attendance', null, null, 'NoData'),
    ('many-5', 'Attendance', now(), now() - interval '1 minute', 'OK')`;
  const text = await page();
  assert.match(text, /<a href="\/console\/schools\?state=live">1<\/a>/);
  assert.match(text, /<a href="\/console\/schools\?state=ready">4<\/a>/);
  const row = /<td[^>]*><div>Roster<\/div><\/td>([^]*?)<\/tr>/.exec(text)?.[1] ?? '';
  assert.deepEqual(row.match(/<div>[^]*?<\/div>/g)?.map((cell) => cell.replaceAll(/<[^>]+>/g, '')), ['2', '1', '2', '1']);
  const counted = [...text.matchAll(/<a href="(\/console\/schools\?(?:state|with)=[^"]+)">(\d+)<\/a>/g)];
  const facts = counted.flatMap(([, way = '']) => /(?<=with=).*/.exec(way) ?? []);
  assert.deepEqual(facts, ['old-roster', 'no-roster', 'old-attendance', 'no-attendance']);
  for (const [, way = '', count] of counted) {
    const listed = (await viewer.get(way)).text.match(/<a href="\/console\/schools\/[^"/?]+"><bdi>/g) ?? [];
    assert.equal(listed.length, Number(count), `${way} lists those that are counted`);
  }
});

const chart = (text: string, id: string) => new RegExp(`<figure class="chart" id="${id}">[^]*?</figure>`).exec(text)?.[0] ?? '';
const barsOf = (figure: string) => figure.match(/<rect class="bar"/g)?.length;

test('four charts, each with its table: of nothing, of one, of many', async () => {
  // The charts go by the hour of the clock: what is put into one is looked at within it.
  const leftMs = 3_600_000 - (Date.now() % 3_600_000);
  if (leftMs < 60_000) await pause(leftMs + 1_000);
  const words = async () => {
    const text = await page();
    return ['requests-hour', 'requests-day', 'deliveries-hour', 'deliveries-day'].map((id) => /<desc[^>]*>([^<]*)</.exec(chart(text, id))?.[1]);
  };
  await db`truncate request_hour, delivery_hour`;
  assert.deepEqual(await words(), [
    '0 requests, 0 refused or failed; at most 0 in an hour.', '0 requests, 0 refused or failed; at most 0 in a day.',
    '0 attempts, 0 failed; at most 0 in an hour.', '0 attempts, 0 failed; at most 0 in a day.',
  ]);
  const empty = await page();
  assert.deepEqual(['requests-hour', 'deliveries-day'].map((id) => barsOf(chart(empty, id))), [24, 14]);
  await db`insert into request_hour values (date_trunc('hour', now(), 'UTC'), '*', 1, 1, 0, 0, 1)`;
  assert.deepEqual((await words()).slice(0, 2), ['an hour', 'a day'].map((each) => `1 request, 1 refused or failed; at most 1 in ${each}.`));
  await db`
    insert into request_hour select date_trunc('hour', now(), 'UTC') - make_interval(hours => at), '*', 1000, 10, 5, 0, 1
    from generate_series(1, 400) at`;
  await db`insert into lane (key, width, lasting) values ('done', 1, false)`;
  await db`
    insert into outbox (estab, id, rp, kind, lane, payload, due_at, state, settled_at)
    select '3805001', 'd' || n, 'app', 'call', 'done', '{}', now(), case when n % 4 = 0 then 'failed' else 'done' end, now() from generate_series(1, 12) n`;
  await db`
    insert into outbox_attempt (estab, id, number, success, detail) select '3805001', 'd' || n, 1, n % 4 > 0, '{}' from generate_series(1, 12) n`;
  await countDeliveryHours(db);
  const [day, , deliveries] = await words();
  assert.deepEqual([day, deliveries], ['23,001 requests, 346 refused or failed; at most 1,000 in an hour.', '12 attempts, 3 failed; at most 12 in an hour.']);
  const text = await page();
  assert.match(chart(text, 'requests-hour'), /<table[^]*<td class="number"><div>1,000<\/div>/);
  await db`update outbox set created_at = now() - interval '5 days' where id = 'd4'`;
  const [, below = ''] = /id="deliveries-hour">[^]*?<\/figure>(<p>[^]*?<\/p>)/.exec(text) ?? [];
  const ways = [...below.matchAll(/href="([^"]+)"/g)].map(([, way = '']) => way.replaceAll('&amp;', '&'));
  assert.deepEqual(ways, ['/console/deliveries', '/console/deliveries?state=waiting', '/console/deliveries?state=failed']);
  assert.match(below, /9 deliveries arrived, 3 were given up/);
  for (const way of ways.filter((one) => !one.includes('waiting')))
    assert.match((await viewer.get(way)).text, /href="\/console\/deliveries\/d4"/, `${way}: made days ago and failed now`);
});

test('the delivery charts show the failed attempts of a delivery that will be tried again', async () => {
  await db`truncate outbox, outbox_attempt, delivery_hour cascade`;
  await db`insert into lane (key, width, lasting) values ('retried', 1, false)`;
  await db`
    insert into outbox (estab, id, rp, kind, lane, payload, due_at, state, attempts)
    values ('3805001', 'retried', 'app', 'call', 'retried', '{}', now() + interval '5 hours', 'waiting', 2)`;
  await db`insert into outbox_attempt (estab, id, number, success, detail) select '3805001', 'retried', n, false, '{}' from generate_series(1, 2) n`;
  await countDeliveryHours(db);
  const text = await page();
  for (const by of ['hour', 'day'])
    assert.match(/<desc[^>]*>([^<]*)</.exec(chart(text, `deliveries-${by}`))?.[1] ?? '', /\b2 failed/, `the chart by ${by}`);
  const [, below = ''] = /id="deliveries-hour">[^]*?<\/figure>(<p>[^]*?<\/p>)/.exec(text) ?? [];
  assert.match(below, /0 deliveries arrived, 0 were given up/);
  const waiting = [...below.matchAll(/href="([^"]+)"/g)].map(([, way = '']) => way).find((way) => way.includes('state=waiting'));
  assert.match((await viewer.get(waiting ?? '')).text, /href="\/console\/deliveries\/retried"/);
});
