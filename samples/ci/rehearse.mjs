// Rehearses an application against Schoolbell: starts the service, makes an application of the demo, and goes through what happens in life: a
// first copy, a joiner, events that come twice, too many requests, an MIS that is away, a token that has ended, and the summer. Ends with 0
// when all went well. Node 20 or newer, nothing to install. The application here is a small one; put your own in its place.
//
// SCHOOLBELL: the command, `npx schoolbell` unless set. SCHOOLBELL_URL: a service that runs already, in place of one that is started.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

const [program = 'npx', ...before] = (process.env.SCHOOLBELL ?? 'npx schoolbell').split(' ');
const url = process.env.SCHOOLBELL_URL ?? `http://127.0.0.1:${process.env.PORT ?? 8080}`;
const longestMs = 120_000;
const say = (words) => console.log(`rehearse: ${words}`);

/** A line of the command line, as JSON. */
async function schoolbell(...args) {
  const { stdout } = await promisify(execFile)(program, [...before, ...args, '--json'], { env: { ...process.env, DEMO: 'on' } });
  return JSON.parse(stdout);
}

async function until(what, look) {
  const end = Date.now() + longestMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited too long: ${what}`);
    await pause(200);
  }
}

/** The service, until it is ended. */
async function start() {
  const service = spawn(program, [...before, 'start'], { stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, DEMO: 'on' } });
  const ended = once(service, 'exit').then(() => {
    throw new Error('the service ended');
  });
  ended.catch(() => {});
  const ask = () => fetch(`${url}/readyz`).catch(() => undefined);
  // npx ends before what it runs has.
  const end = async () => {
    service.kill('SIGTERM');
    await until('the service has ended', async () => (await ask()) === undefined);
  };
  try {
    await Promise.race([until('the service answers', async () => (await ask())?.ok), ended]);
  } catch (error) {
    service.kill('SIGTERM');
    throw error;
  }
  return end;
}

/** The application under rehearsal: it keeps a copy of the students, and does what every client has to do. */
function createApplication({ rp, estab, schoolSecret, signingSecret }) {
  const copy = new Map();
  const handled = new Set();
  const met = { limited: 0, expired: 0, repeated: 0 };
  let token;

  async function obtainToken() {
    const authorization = `Basic ${Buffer.from(`${rp}|${estab}:${schoolSecret}`).toString('base64')}`;
    const answer = await fetch(`${url}/ims/oneroster/v1p1/auth/token`, { method: 'POST', headers: { authorization } });
    assert.equal(answer.status, 200);
    return (await answer.json()).access_token;
  }

  /** Waits as it is told to, and obtains another token when one has ended. */
  async function ask(path) {
    for (let tries = 0; tries < 10; tries += 1) {
      token ??= await obtainToken();
      const answer = await fetch(`${url}/ims/oneroster/v1p1${path}`, { headers: { authorization: `Bearer ${token}` } });
      if (answer.ok) return answer.json();
      if (answer.status === 401) {
        met.expired += 1;
        token = undefined;
      } else if (answer.status === 429 || answer.status === 503) {
        met.limited += 1;
        await pause(1000 * Number(answer.headers.get('retry-after') ?? 1));
      } else throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    }
    throw new Error(`${path}: given up`);
  }

  return {
    copy,
    met,
    async sync() {
      const filter = encodeURIComponent("status='active'");
      const seen = new Map();
      for (let offset = 0; ; offset += 1000) {
        const { users } = await ask(`/students?limit=1000&offset=${offset}&filter=${filter}&fields=sourcedId,grades`);
        for (const { sourcedId, grades } of users) seen.set(sourcedId, grades[0]);
        if (users.length < 1000) break;
      }
      copy.clear();
      for (const [id, grade] of seen) copy.set(id, grade);
    },
    /** An event counts once, however often it comes, and only if it is signed. */
    receive(headers, body) {
      const [id, timestamp] = [headers['webhook-id'], headers['webhook-timestamp']];
      const key = Buffer.from(signingSecret.replace(/^whsec_/, ''), 'base64');
      const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
      const signed = headers['webhook-signature'].split(' ').some((one) => {
        const given = Buffer.from(one.replace(/^v1,/, ''), 'base64');
        return given.length === expected.length && timingSafeEqual(given, expected);
      });
      if (!signed) return 401;
      if (handled.has(id)) met.repeated += 1;
      handled.add(id);
      return 204;
    },
    events: () => handled.size,
  };
}

async function rehearse() {
  const made = await schoolbell('sandbox', 'application', '--name', 'Rehearsal');
  const application = createApplication(made);
  const receiver = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    response.writeHead(application.receive(request.headers, Buffer.concat(chunks))).end();
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');

  const json = { 'content-type': 'application/json' };
  const getToken = async (body) => {
    const answer = await fetch(`${url}/api/oauth/GetToken`, { method: 'POST', headers: json, body: JSON.stringify({ relyingParty: made.rp, ...body }) });
    return { authorization: `Idaas ${(await answer.json()).token}` };
  };
  const own = await getToken({ password: made.managementSecret });
  const school = await getToken({ estab: made.estab, password: made.schoolSecret });
  const sandbox = async (name, body = {}) => {
    const answer = await fetch(`${url}/api/sandbox/${name}`, { method: 'POST', headers: { ...json, ...own }, body: JSON.stringify(body) });
    assert.equal(answer.status, 200, `${name}: ${await answer.clone().text()}`);
    return (await answer.json()).Sandbox;
  };
  /** What an application does: an event comes, and then it looks. */
  const afterEvent = async (what, cause, look) => {
    const before = application.events();
    const state = await cause();
    await until(`an event: ${what}`, () => application.events() > before);
    return until(what, async () => {
      await application.sync();
      return look(state);
    });
  };

  try {
    await application.sync();
    assert.ok(application.copy.size > 1000);
    say(`a first copy: ${application.copy.size} students`);

    const hook = { url: `http://127.0.0.1:${receiver.address().port}/events`, DatabaseName: 'SchoolData', method: 'POST' };
    const registered = await fetch(`${url}/api/v1/Webhook`, { method: 'POST', headers: { ...json, ...school }, body: JSON.stringify(hook) });
    assert.ok(registered.ok, await registered.text());

    const known = new Set(application.copy.keys());
    await afterEvent('a joiner', () => sandbox('joiner'), () => [...application.copy.keys()].some((id) => !known.has(id)));
    say('a joiner came with an event');

    await sandbox('events', { Mode: 'duplicated' });
    await afterEvent('a leaver', () => sandbox('leaver'), ({ Schools }) => !application.copy.has(Schools[0].Happenings.at(-1).Of));
    await until('an event that came twice', () => application.met.repeated > 0);
    await sandbox('events', { Mode: 'normal' });
    say('an event came twice and counted once');

    await sandbox('answers', { Status: '429', Count: 2, RetryAfter: 1 });
    await application.sync();
    assert.equal(application.met.limited, 2);
    say('too many requests: waited, and went on');

    await sandbox('mis', { Mode: 'offline' });
    await application.sync();
    assert.ok(application.copy.size > 1000, 'what was collected stays');
    await sandbox('mis', { Mode: 'normal' });
    say('the MIS was away, and nobody was lost');

    await sandbox('tokens', { Seconds: 1 });
    const short = createApplication(made);
    await short.sync();
    await pause(1100);
    await short.sync();
    assert.ok(short.met.expired > 0);
    await sandbox('tokens', { Seconds: 0 });
    say('a token ended: another was obtained');

    const oldest = [...application.copy].filter(([, grade]) => grade === '13').map(([id]) => id);
    await afterEvent('the summer', () => sandbox('clock', { To: 'summer-roll-over', Force: true }), () => oldest.every((id) => !application.copy.has(id)));
    say(`the summer: ${oldest.length} left, ${application.copy.size} students now`);
  } finally {
    await sandbox('reset');
    receiver.closeAllConnections();
    receiver.close();
  }
}

const end = process.env.SCHOOLBELL_URL === undefined ? await start() : async () => {};
try {
  await rehearse();
  say('all went well');
} finally {
  await end();
}
