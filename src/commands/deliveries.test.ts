// The command deliveries: what it shows of requests and answers, in which form, and what it must not show.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useDelivering, useReceiver, type School } from '../../test/delivery.ts';
import { until } from '../../test/until.ts';
import { enqueue } from '../outbox/enqueue.ts';

const delivering = await useDelivering();
const { db, change, register, settled, run } = delivering;
const receiver = await useReceiver();
let school: School;

type Shown = {
  id: string;
  event: string;
  state: string;
  body: string | null;
  disabled: string | null;
  log: { status: number; response: string | null; message: string | null; request: { headers: Record<string, string> } }[];
};
const show = async (options: Record<string, string> = {}) => {
  const { data, lines } = await run('deliveries', { estab: school.estab, ...options });
  return { shown: data as Shown[], lines };
};

beforeEach(async () => {
  await delivering.clear();
  school = await delivering.addSchool();
  receiver.arrivals = [];
  receiver.answer = () => 200;
});

test('answers are shown as UTF-8 text; what is no text becomes replacement characters, and nothing fails', async () => {
  await register(school, `${receiver.origin}/hook`);
  for (const [answer, expected] of [
    [Buffer.from('Grüße, ça va? 日本 🎒'), 'Grüße, ça va? 日本 🎒'],
    [Buffer.from([0x61, 0, 0xff, 0x62]), 'a\0\ufffdb'],
    [Buffer.alloc(0), ''],
  ] as const) {
    receiver.answer = (_, response) => void response.writeHead(500).end(answer);
    await change(school.estab);
    await settled(school.estab);
    assert.equal((await show({ state: 'waiting' })).shown[0]?.log[0]?.response, expected);
  }
});

test('a JSON body is shown as it was sent, a form never: it can hold what a person typed', async () => {
  await register(school, `${receiver.origin}/hook`, { Method: 'POST' });
  await change(school.estab);
  const lane = { key: 'form', host: '127.0.0.1', width: 4, lasting: false };
  const form = { estab: school.estab, rp: school.rp, kind: 'call', lane };
  for (const contentType of ['application/x-www-form-urlencoded', 'text/plain', undefined]) {
    await db.begin((tx) =>
      enqueue(tx, {
        ...form,
        payload: { event: 'authentication', method: 'POST', url: `${receiver.origin}/form`, ...(contentType ? { contentType } : {}) },
        body: Buffer.from('password=hunter2'),
      }),
    );
  }
  const sent = () => receiver.arrivals.filter((one) => one.body.toString() === 'password=hunter2').length;
  await until('they were sent', () => sent() >= 3);
  await settled(school.estab);
  const { shown } = await show();
  assert.deepEqual(shown.map(({ event, body }) => [event, body]).toSorted(), [
    ...Array.from({ length: 3 }, () => ['authentication', null]),
    ['database', JSON.stringify({ Estab: school.estab, DatabaseName: 'SchoolData' })],
  ]);
  assert.doesNotMatch(JSON.stringify(await show()), /hunter2|whsec_/);
});

test('lines are one each and hold nothing that steers a terminal, whatever a receiver or a URL says', async () => {
  await register(school, `${receiver.origin}/hook`);
  await change(school.estab);
  await settled(school.estab);
  await db`update outbox_attempt set detail = jsonb_set(detail, '{message}',
      to_jsonb(E'evil \\x1b]0;title\\x07\\x1b[2J\\r\\nsecond\\tline \\u009b31m'::text)), error_class = 'protocol_error'`;
  await db`update lane set disabled_at = now(), disabled_why = E'gone \\x1b[31m'`;
  const { lines, shown } = await show();
  assert.equal(lines.length, 2);
  assert.match(lines[0] ?? '', /^ID +CREATED +STATE +ESTAB +RP +EVENT +ATTEMPTS +URL +TROUBLE$/);
  assert.doesNotMatch(lines[1] ?? '', /\p{Cc}/u);
  assert.match(lines[1] ?? '', /protocol_error, evil .*second line .*disabled: gone/);
  assert.match(shown[0]?.disabled ?? '', /gone/);
});

test('the reason a delivery does not go on stands in it: class, message, and why its lane has ended', async () => {
  await register(school, `${receiver.origin}/hook`);
  receiver.answer = () => 410;
  await change(school.estab);
  await settled(school.estab);
  const { lines, shown } = await show({ state: 'failed' });
  assert.match((await run('deliveries', {}, shown[0]?.id ?? '')).lines.at(-1) ?? '', /gone for good.*enable its target/);
  assert.deepEqual([shown[0]?.disabled, shown[0]?.log[0]?.status], ['the receiver answered 410 Gone', 410]);
  assert.match(lines[1] ?? '', /failed.* 1 .*status_410, .*disabled: the receiver answered 410 Gone/);
});

test('narrowed by kind, target and time, one by its id, and on from where a list ended; what is wrong is said', async () => {
  const target = await register(school, `${receiver.origin}/hook`);
  await change(school.estab);
  await settled(school.estab);
  await run('target test', {}, target);
  await settled(school.estab);
  const kinds = async (options: Record<string, string>) => (await show(options)).shown.map(({ event }) => event);
  assert.deepEqual(await kinds({}), ['test', 'database']);
  assert.deepEqual(await kinds({ kind: 'database' }), ['database']);
  assert.deepEqual(await kinds({ target }), ['test', 'database']);
  assert.deepEqual(await kinds({ target: `callback:${school.rp}` }), []);
  assert.deepEqual([await kinds({ since: '2099-01-01' }), await kinds({ until: '2001-01-01T00:00:00Z' })], [[], []]);
  const { shown } = await show();
  const one = (await run('deliveries', {}, shown[1]?.id ?? '')).data as Shown[];
  assert.deepEqual(one.map(({ id }) => id), [shown[1]?.id]);
  const [row] = await db<{ at: string }[]>`
    select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') as at from outbox where id = ${shown[0]?.id ?? ''}`;
  assert.deepEqual(await kinds({ before: `${row?.at ?? ''}Z,${shown[0]?.id ?? ''}` }), ['database']);
  for (const [options, words] of [
    [{ kind: 'odd' }, /--kind "odd": must be one of authentication/],
    [{ since: 'yesterday' }, /--since: "yesterday" is not a time/],
    [{ target: 'odd' }, /There is no target odd/],
  ] as const)
    await assert.rejects(show(options), words);
  await assert.rejects(run('replay', { rp: school.rp }, shown[0]?.id ?? ''), /--rp and --target go with --failed-since/);
  await assert.rejects(run('deliveries', {}, 'msg_nobody'), /There is no delivery msg_nobody/);
});
