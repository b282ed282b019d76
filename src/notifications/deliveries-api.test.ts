// Why did my webhook fail? What an application sees of its deliveries through the API: its own and nobody else's, with
// every attempt, in pages, and sent again under the rules that hold for the operator too.
import assert from 'node:assert/strict';
import { beforeEach, suite, test } from 'node:test';
import { useDelivering, useReceiver, type School } from '../../test/delivery.ts';
import { until } from '../../test/until.ts';
import { connect } from '../db/connect.ts';
import { policies } from '../db/policies.ts';
import { outboundLimits } from '../http/outbound.ts';
import { countDeliveries, deliveryStates, listDeliveries } from './deliveries.ts';
import { enqueueOneOff } from './one-off.ts';

const delivering = await useDelivering();
const { db, service, change, register, settled, retried, run } = delivering;
const receiver = await useReceiver();
let school: School;
let webhook = '';

type Attempt = {
  At: string;
  Status: number | null;
  Error: string | null;
  Address: string | null;
  Milliseconds: number | null;
  ResponseHeaders: Record<string, string> | null;
  Response: string | null;
};
type Delivery = Record<string, unknown> & { Id: string; State: string; Kind: string; Estab: string; Created: string };
type Answer = {
  Deliveries: Delivery[];
  __pagination__: Record<string, unknown>[];
  DeliveryId?: string;
  Message: string | null;
  ExceptionType: string | null;
  ExceptionMessage: string | null;
};

beforeEach(async () => {
  await delivering.clear();
  school = await delivering.addSchool('School,Attendance:optional');
  webhook = await register(school, `${receiver.origin}/hook?school=1`);
  receiver.arrivals = [];
  receiver.answer = () => 200;
});

type Ask = (path?: string, of?: School, method?: string) => Promise<{ status: number } & Answer>;

const read = async (response: Response) => ({ status: response.status, ...((await response.json()) as Answer) });
const see: Ask = async (path = '', of = school, method = 'GET') => read(await of.ask(method, `Deliveries${path}`));
/** With the management token of its application. */
const manage: Ask = async (path = '', of = school, method = 'GET') => read(await of.manage(method, `Deliveries${path}`));

async function told(of: School = school): Promise<string> {
  await change(of.estab);
  await settled(of.estab);
  return (await delivering.rows(of.estab)).at(-1)?.id ?? '';
}

const attemptsOf = ({ Deliveries }: Answer) => Deliveries[0]?.Attempts as Attempt[];

test('a delivery that failed says where it went, when, what became of it, when it is tried again and how its target stands', async () => {
  receiver.answer = (_, response) => void response.writeHead(503, { 'x-reason': 'maintenance', 'retry-after': '600' }).end('Zoë is asleep');
  const id = await told();
  const { status, Deliveries, __pagination__, ...rest } = await see();
  assert.equal(status, 200);
  const [one] = Deliveries;
  assert.ok(one);
  const { Created, NextAttempt, TargetMessage, ...fixed } = one;
  assert.deepEqual(fixed, {
    Id: id,
    Kind: 'database',
    Estab: school.estab,
    WebhookId: webhook,
    DatabaseName: 'SchoolData',
    Method: 'GET',
    Url: `${receiver.origin}/hook?school=1`,
    State: 'waiting',
    Settled: null,
    Attempts: 1,
    LastStatus: 503,
    LastError: 'the receiver answered 503',
    TargetState: 'failing',
  });
  assert.match(String(TargetMessage), /nothing but failures since \d{4}-/);
  assert.ok(Date.parse(String(NextAttempt)) > Date.parse(Created));
  assert.deepEqual(__pagination__, [{ PageSize: 100, PageNumber: 1, PageCount: 1, RowCount: 1 }]);
  assert.deepEqual(rest, { Message: null, ExceptionType: null, ExceptionMessage: null, InnerException: null });
  const until = new Date(Date.now() + 3_600_000).toISOString();
  await db`update lane set open_until = ${until} where key = ${`webhook ${webhook}`}`;
  const [paused] = (await see()).Deliveries;
  assert.deepEqual([paused?.TargetState, paused?.NextAttempt], ['paused', until], 'nothing is tried before');
});

test('one delivery shows every attempt with what was answered', async () => {
  let count = 0;
  receiver.answer = (_, response) => {
    count += 1;
    if (count === 1) response.socket?.destroy();
    else response.writeHead(count === 2 ? 302 : 200, { location: '/other' }).end(count === 2 ? '' : 'thank you');
  };
  const id = await told();
  for (let more = 0; more < 2; more += 1) await retried(school.estab);
  const { Deliveries, ...rest } = await see(`/${id}`);
  assert.deepEqual([Deliveries[0]?.State, Deliveries[0]?.TargetState, Deliveries[0]?.TargetMessage, rest.Message], ['done', 'ok', null, null]);
  const attempts = attemptsOf({ Deliveries, ...rest });
  assert.deepEqual(
    attempts.map(({ Status, Address, Response, ResponseHeaders }) => [Status, Address, Response, ResponseHeaders?.location]),
    [[null, '127.0.0.1', null, undefined], [302, '127.0.0.1', '', '/other'], [200, '127.0.0.1', 'thank you', '/other']],
  );
  assert.match(attempts[0]?.Error ?? '', /^connection_reset: /);
  assert.match(attempts[1]?.Error ?? '', /302.*not followed/);
  assert.equal(attempts[2]?.Error, null);
  assert.ok(attempts.every(({ At, Milliseconds }) => !Number.isNaN(Date.parse(At)) && Number.isInteger(Milliseconds)));
});

test('every kind is listed under its name, newest first: events, tests, data and writebacks, authentication', async () => {
  await told();
  await school.api('POST', `/${webhook}/Test`);
  for (const event of ['availability', 'writeback'] as const)
    await db.begin((tx) => enqueueOneOff(tx, { estab: school.estab, rp: school.rp, event, url: `${receiver.origin}/once`, body: { secret: 'of the body' } }));
  await run('authorise', { rp: school.rp, estab: school.estab });
  await settled(school.estab);
  const { Deliveries } = await see();
  assert.deepEqual(Deliveries.map(({ Kind }) => Kind), ['authentication', 'writeback', 'availability', 'test', 'database']);
  assert.deepEqual(Deliveries.map(({ WebhookId }) => WebhookId), [null, null, null, webhook, webhook]);
  assert.doesNotMatch(JSON.stringify(Deliveries), /sb_school_|of the body/);
  const mails = await db`select from outbox where estab = ${school.estab} and kind = 'mail'`;
  assert.ok(mails.length > 0, 'mails are nobody’s deliveries');
});

suite('whose they are', () => {
  test('another application, another school of the same application and a stranger find nothing', async () => {
    const id = await told();
    const other = await delivering.addSchool();
    assert.deepEqual((await see('', other)).Deliveries, []);
    for (const path of [`/${id}`, `/${id}/Replay`, '/msg_unknown', '/%00', `/${'x'.repeat(300)}`]) {
      const method = path.endsWith('Replay') ? 'POST' : 'GET';
      for (const ask of [see, manage]) {
        const { status, ExceptionType, ExceptionMessage } = await ask(path, other, method);
        assert.deepEqual([status, ExceptionType], [404, 'not_found'], `${path}: ${ExceptionMessage}`);
      }
    }
    assert.equal((await delivering.rows(school.estab))[0]?.state, 'done');
    for (const headers of [{}, { authorization: 'Idaas nonsense' }]) assert.equal((await fetch(`${service.url}/api/v1/Deliveries`, { headers })).status, 401);
  });

  test('the management token shows those of all schools of the application, the school token those of its own', async () => {
    const other = await delivering.addSchool();
    const both = await delivering.joinSchool(school, other.estab);
    await register(both, `${receiver.origin}/other`);
    const [here, there] = [await told(), await told(both)];
    const all = await manage('?pageSize=1000');
    assert.deepEqual(all.Deliveries.filter(({ Kind }) => Kind === 'database').map(({ Id }) => Id), [there, here]);
    assert.deepEqual((await see()).Deliveries.filter(({ Kind }) => Kind === 'database').map(({ Id }) => Id), [here]);
    assert.equal((await see(`/${there}`)).status, 404, 'of another school');
    assert.equal((await manage(`/${there}`)).Deliveries[0]?.Estab, other.estab);
    assert.equal((await manage(`/${there}/Replay`, school, 'POST')).status, 202);
  });

  test('a token of another kind is refused', async () => {
    const client = await service.addClient('roster', [school.estab]);
    const response = await fetch(`${service.url}/api/v1/Deliveries`, { headers: { authorization: `Bearer ${await client.tokenA()}` } });
    assert.equal(response.status, 401);
  });
});

suite('pages', () => {
  /** So many, a minute apart, the newest first. */
  async function put(count: number, state = 'done'): Promise<string[]> {
    await db`insert into lane (key, host, width, lasting) values ('pages', null, 4, false) on conflict do nothing`;
    const rows = await db<{ id: string }[]>`
      insert into outbox (estab, id, rp, kind, lane, payload, state, due_at, created_at, settled_at)
      select ${school.estab}, 'msg_' || ${state} || lpad(n::text, 6, '0'), ${school.rp}, 'call', 'pages',
        '{"event": "availability", "method": "POST", "url": "http://127.0.0.1/x"}', ${state}, now(), now() - n * interval '1 minute', now()
      from generate_series(1, ${count}::int) n returning id`;
    return rows.map(({ id }) => id);
  }

  test('are walked by NextPage, newest first, without gaps or repeats', async () => {
    const ids = await put(25);
    const walked: string[] = [];
    let next: string | undefined = '?pageSize=10&state=DONE';
    for (let page = 1; next !== undefined; page += 1) {
      const { Deliveries, __pagination__ }: Answer = await see(next);
      const { NextPage, ...rest } = __pagination__[0] ?? {};
      assert.deepEqual(rest, { PageSize: 10, PageNumber: page, PageCount: 3, RowCount: 25 });
      walked.push(...Deliveries.map(({ Id }) => Id));
      next = NextPage as string | undefined;
    }
    assert.deepEqual(walked, ids);
    assert.deepEqual((await see('?page=9&pageSize=10')).Deliveries, []);
  });

  test('narrow by state, since and until, in any case', async () => {
    await put(5);
    await put(3, 'failed');
    const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
    const count = async (query: string) => {
      const { __pagination__: [pagination] } = await see(query);
      return pagination?.RowCount;
    };
    assert.deepEqual(
      [await count(''), await count('?state=failed'), await count('?STATE=Waiting'), await count(`?since=${ago(2.5)}`), await count(`?until=${ago(2.5)}`)],
      [8, 3, 0, 4, 4],
    );
    assert.equal(await count(`?since=${ago(3.5)}&until=${ago(1.5)}&state=failed`), 2);
  });

  const bad: [query: string, message: RegExp][] = [
    ['state=lost', /"lost" is none of waiting, running, done, failed, superseded, cancelled/],
    ['state=', /none of waiting/],
    ['since=yesterday', /since: "yesterday" is not a time such as 2026/],
    ['since=2026-02-30', /not a time/],
    ['until=x', /until: "x" is not a time/],
    ['page=0', /page: "0" is not a whole number from 1 on/],
    ['page=x', /not a whole number/],
    ['pageSize=-1', /not a whole number/],
    ['pageSize=1001', /1001 is more than a page holds, which is 1000/],
    ['page=11&pageSize=1000', /beyond the first 10000; narrow them down with state, since or until/],
    ['state=done&state=failed', /given 2 times/],
    ['limit=5', /"limit" is not a parameter of \/api\/v1\/Deliveries: it takes state, since, until, page, pageSize/],
  ];
  for (const [query, message] of bad) {
    test(`${query} is refused, with what would be right`, async () => {
      const { status, ExceptionMessage } = await see(`?${query}`);
      assert.equal(status, 400);
      assert.match(ExceptionMessage ?? '', message);
    });
  }

  test('cost what they show, not what there is', async () => {
    await put(3, 'failed');
    await db`update outbox set created_at = created_at - interval '1 day'`;
    await put(3000);
    await db`
      insert into outbox (estab, id, rp, kind, lane, payload, state, due_at, settled_at)
      select 'other', 'msg_other' || n, 'other', 'call', 'pages', '{}', case when n % 2 = 0 then 'failed' else 'done' end, now(), now()
      from generate_series(1, 20000) n`;
    await db`analyze outbox`;
    const pool = connect(service.databaseUrl, { ...policies.reads, connectionMs: 60_000, statementMs: 60_000, answerMs: 60_000 });
    try {
      for (const estab of [school.estab, undefined]) {
        const question = { states: ['failed'], since: undefined, until: undefined, page: 1, pageSize: 10 } as const;
        const read = await pool.begin(async (tx) => {
          assert.equal((await listDeliveries(tx, { rp: school.rp, estab }, question)).length, 3);
          assert.equal(await countDeliveries(tx, { rp: school.rp, estab }, question, 1000), 3);
          assert.equal((await listDeliveries(tx, { rp: school.rp, estab }, { ...question, states: deliveryStates })).length, 10);
          const [row] = await tx<{ read: number }[]>`
            select (seq_tup_read + idx_tup_fetch)::float8 as read from pg_stat_xact_user_tables where relname = 'outbox'`;
          return row?.read ?? 0;
        });
        assert.ok(read > 0 && read < 200, `${read} rows were read`);
      }
    } finally {
      await pool.end();
    }
  });
});

suite('answers', () => {
  test('are text: cut where they are long, described where they are none, without what steers a terminal', async () => {
    for (const [answer, expected] of [
      [Buffer.from('Grüße\n\x1b[31mred\u009b\ttab'), 'Grüße\n\ufffd[31mred\ufffd\ttab'],
      [Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0xff]), '(6 bytes that are no text, beginning with 89504e4700ff)'],
      [Buffer.alloc(0), ''],
      [Buffer.alloc(30_000, 'ü'), 'ü'.repeat(outboundLimits.keptBytes / 2)],
      [Buffer.concat([Buffer.from('a'), Buffer.alloc(30_000, 'ü')]), `a${'ü'.repeat(outboundLimits.keptBytes / 2 - 1)}`],
    ] as const) {
      receiver.answer = (_, response) => void response.writeHead(500).end(answer);
      assert.equal(attemptsOf(await see(`/${await told()}`))[0]?.Response, expected);
    }
  });

  test('keep no cookies or credentials in their headers, and only so much of the others', async () => {
    const secret = { 'set-cookie': ['a=1', 'b=2'], authorization: 'Bearer x', 'x-auth-token': 'x', 'x-api-key': 'x', 'x-csrf-token': 'x', 'x-session-id': 'x' };
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`x-many-${at}`, 'y']));
    receiver.answer = (_, response) =>
      void response.writeHead(401, { ...secret, 'www-authenticate': 'Basic', 'x-long': 'z'.repeat(2_000), ...many }).end();
    const headers = attemptsOf(await see(`/${await told()}`))[0]?.ResponseHeaders ?? {};
    assert.deepEqual(Object.keys(headers).filter((name) => name in secret), []);
    assert.deepEqual([headers['www-authenticate'], headers['x-long']?.length, Object.keys(headers).length], ['Basic', 500, 40]);
    const [stored] = await db<{ detail: object }[]>`select detail from outbox_attempt`;
    assert.doesNotMatch(JSON.stringify(stored), /set-cookie|Bearer x/, 'nor does the database');
  });

  test('to a form that carries the school secret are not kept, whatever the receiver sends back', async () => {
    receiver.answer = (arrival, response) => void response.writeHead(500, { 'x-echo': arrival.body.toString('latin1') }).end(arrival.body);
    await db`update application set callback_url = ${`${receiver.origin}/form`} where rp = ${school.rp}`;
    const { schoolSecret } = (await run('authorise', { rp: school.rp, estab: school.estab })).data as { schoolSecret: string };
    // The school gets a receipt by mail, which is none of the calls.
    const attempts = () => db<{ detail: object; response: Buffer | null }[]>`
      select a.detail, a.response from outbox_attempt a join outbox o on o.estab = a.estab and o.id = a.id where a.estab = ${school.estab} and o.kind = 'call'`;
    await until('an attempt', async () => (await attempts()).length > 0);
    assert.ok(receiver.arrivals[0]?.body.includes(schoolSecret));
    const [form] = (await manage()).Deliveries;
    const shown = await manage(`/${form?.Id}`);
    const [attempt] = attemptsOf(shown);
    assert.deepEqual([attempt?.Status, attempt?.Response, attempt?.ResponseHeaders?.['x-echo']], [500, null, undefined]);
    assert.ok(attempt?.ResponseHeaders?.date);
    const [stored] = await attempts();
    assert.ok(!JSON.stringify([stored, shown]).includes(schoolSecret));
    assert.equal(stored?.response, null);
  });
});

suite('sent again', () => {
  test('a delivery goes out under its id, also one that arrived', async () => {
    const id = await told();
    const { status, DeliveryId, Message } = await see(`/${id}/Replay`, school, 'POST');
    assert.deepEqual([status, DeliveryId, Message], [202, id, null]);
    await settled(school.estab);
    assert.deepEqual(receiver.arrivals.map((arrival) => arrival.id), [id, id]);
    assert.equal(attemptsOf(await see(`/${id}`)).length, 2);
  });

  test('a disabled target is tried again, and the answer says that it was', async () => {
    receiver.answer = () => 410;
    const id = await told();
    const { Deliveries } = await see();
    assert.deepEqual([Deliveries[0]?.State, Deliveries[0]?.TargetState, Deliveries[0]?.LastStatus], ['failed', 'disabled', 410]);
    assert.match(String(Deliveries[0]?.TargetMessage), /410 Gone.*replayed/);
    receiver.answer = () => 200;
    const { status, Message } = await see(`/${id}/Replay`, school, 'POST');
    assert.equal(status, 202);
    assert.match(Message ?? '', /disabled \(the receiver answered 410 Gone\); it is tried again/);
    await settled(school.estab);
    assert.deepEqual((await see()).Deliveries.map(({ State, TargetState }) => [State, TargetState]), [['done', 'ok']]);
  });

  test('what cannot be sent is refused with the reason, and stays as it was', async () => {
    const id = await told();
    const refused = async (message: RegExp, ask = manage) => {
      const { status, ExceptionType, ExceptionMessage } = await ask(`/${id}/Replay`, school, 'POST');
      assert.deepEqual([status, ExceptionType], [409, 'conflict'], String(ExceptionMessage));
      assert.match(ExceptionMessage ?? '', message);
    };
    await db`update outbox set state = 'running', lease_until = now() + interval '1 hour' where id = ${id}`;
    await refused(/being delivered right now/, see);
    await db`update outbox set state = 'done', lease_until = null where id = ${id}`;
    await db`update authorisation set scopes = '{Attendance}' where estab = ${school.estab}`;
    await refused(/not granted a scope that opens SchoolData: it needs one of School/, see);
    await run('pause', { rp: school.rp, estab: school.estab });
    await refused(/not authorised at S\d+ \(Paused\); the school has to resume/);
    assert.equal((await see(`/${id}/Replay`, school, 'POST')).status, 403, 'the school token opens nothing');
    await run('resume', { rp: school.rp, estab: school.estab });
    await db`update authorisation set scopes = '{School}' where estab = ${school.estab}`;
    await school.api('DELETE', `/${webhook}`);
    await refused(/registration was removed/, see);
    assert.deepEqual((await delivering.rows(school.estab)).map(({ state }) => state), ['done']);
  });

  test('a form whose school secret was erased is refused, with the advice to approve again', async () => {
    await db`update application set callback_url = ${`${receiver.origin}/form`} where rp = ${school.rp}`;
    await run('authorise', { rp: school.rp, estab: school.estab });
    await until('the form is there', async () => (await manage()).Deliveries[0]?.State === 'done');
    await db`update outbox set body = null where estab = ${school.estab} and payload ->> 'event' = 'authentication'`;
    const [form] = (await manage()).Deliveries;
    const { status, ExceptionMessage } = await manage(`/${form?.Id}/Replay`, school, 'POST');
    assert.equal(status, 409);
    assert.match(ExceptionMessage ?? '', /erased once it had arrived.*approve again/);
  });

  test('other verbs are refused with those that are taken', async () => {
    for (const [path, method, allow] of [['', 'POST', 'GET, HEAD'], ['/x', 'DELETE', 'GET, HEAD'], ['/x/Replay', 'GET', 'POST']] as const) {
      const response = await school.ask(method, `Deliveries${path}`);
      assert.deepEqual([response.status, response.headers.get('allow')], [405, allow]);
    }
  });
});

test('GET Webhook/{Id} shows one registration, and that nothing is sent there at present', async () => {
  const read = async (path: string, of = school) => {
    const response = await of.api('GET', path);
    return { status: response.status, ...((await response.json()) as { Webhook?: { Id: string; Url: string }[]; Message: string | null }) };
  };
  const shown = await read(`/${webhook}`);
  assert.deepEqual([shown.status, shown.Webhook?.map(({ Id, Url }) => [Id, Url]), shown.Message], [200, [[webhook, `${receiver.origin}/hook?school=1`]], null]);
  receiver.answer = () => 410;
  await told();
  assert.match((await read(`/${webhook.toUpperCase()}`)).Message ?? '', /410 Gone. Send a test or register again to resume/);
  for (const path of ['/none', '/%00', `/${'9'.repeat(40)}`]) assert.equal((await read(path)).status, 404, path);
  assert.equal((await read(`/${webhook}`, await delivering.addSchool())).status, 404, "another's");
});
