// In charge of the figures of identity: sign-ins against bare argon2id with the same parameters, what a flood of wrong
// ones costs others, QR codes against the bare library, and GetUsers of 10,000 people.
import { argon2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import QRCode from 'qrcode';
import sharp from 'sharp';
import { parseAllowList } from '../src/http/address-guard.ts';
import { createOutbound } from '../src/http/outbound.ts';
import { getUsers } from '../src/identity/get-users.ts';
import { createHashPool } from '../src/access/hash-pool.ts';
import { argon2Parameters, hashPassword } from '../src/access/passwords.ts';
import { parseQrRequest } from '../src/identity/parse-qr-request.ts';
import { generateQrCode } from '../src/identity/qr-code.ts';
import { tryLogin } from '../src/identity/try-login.ts';
import { get, medianMs, ratio, type Bench } from './bench.ts';

const people = 10_000;
const tries = 64;
const atOnce = 4;
const hashThreads = 1;
const wrongOnes = 300;
const rightOnes = 30;
const codes = 100;
const school = 'identity';

export async function benchIdentity(bench: Bench): Promise<void> {
  const { db, add } = bench;
  await db`insert into establishment (estab, name, email) values (${school}, 'Identity', 'identity@school.example')`;
  await db`
    insert into roster_user (estab, sourced_id, kind, status, version, enabled_user, org_ids, role, username, given_name, family_name, email, record)
    select ${school}, 'u' || n, 'student', 'active', 1, true, '{o}', 'student', 'user' || n, 'Given' || n, 'Family' || n, 'user' || n || '@school.example', ''
      from generate_series(1, ${people}) n`;
  await db`analyze roster_user`;
  const password = 'a long enough phrase';
  const hashing = createHashPool({ threads: hashThreads });
  const stored = await hashing.known((derive) => hashPassword(derive, password));
  await db`
    insert into login (estab, presence_id, username, password_hash)
    select ${school}, presence_id(${school}, 'u' || n), 'user' || n, ${stored} from generate_series(1, ${tries}) n`;
  const { memory, passes, parallelism, tagLength } = argon2Parameters;
  const hash = promisify(argon2);
  // On as many threads as sign-ins have here.
  const hashOne = () => hash('argon2id', { message: password, nonce: randomBytes(16), memory, passes, parallelism, tagLength });
  const bare = await perSecond(tries, hashOne, hashThreads);
  const signIns = await perSecond(tries, async (at) => {
    const tried = await tryLogin(db, hashing.anyone, { operation: 'SignIn', estab: school, userName: `user${at + 1}`, password, address: '192.0.2.1' });
    if (tried.kind !== 'right') throw new Error('a sign-in failed');
  });
  const rates = `${ratio(signIns / bare)} (${signIns.toFixed(0)} of ${bare.toFixed(0)} a second)`;
  add('sign-ins: share of bare argon2id on as many threads', rates, '>= 0.8', signIns / bare >= 0.8);
  const wrong = (userName: string) => (at: number) =>
    tryLogin(db, hashing.anyone, { operation: 'SignIn', estab: school, userName, password: `${at}`, address: `192.0.2.${at}` });
  const [known, unknown] = await inTurn(wrong('user1'), wrong('nobody'), 9);
  add('a wrong sign-in: unknown user against known', `${ratio(unknown / known)} (${unknown.toFixed(1)} of ${known.toFixed(1)} ms)`);
  await hashing.close();
  await benchFlood(bench, password);
  const outbound = createOutbound(parseAllowList([]));
  // As wide as ours: most of the time goes into pixels.
  const width = (
    await sharp((await generateQrCode({ outbound }, parseQrRequest({ text: 'https://school.example/visit/0?term=autumn' }), 'png')).bytes).metadata()
  ).width;
  const text = (at: number) => `https://school.example/visit/${at}?term=autumn`;
  const plain = await perSecond(codes, (at) => QRCode.toBuffer(text(at), { errorCorrectionLevel: 'M', width }));
  const ours = await perSecond(codes, (at) => generateQrCode({ outbound }, parseQrRequest({ text: text(at) }), 'png'));
  await outbound.close();
  add(
    'QR codes, each read back: share of the bare library',
    `${ratio(ours / plain)} (${ours.toFixed(0)} of ${plain.toFixed(0)} a second)`,
    '>= 0.5',
    ours / plain >= 0.5,
  );

  const ms = await medianMs(() => getUsers(db, { rp: 'bench', estab: school }, {}), 7);
  add(`GetUsers of ${people.toLocaleString('en')} people, milliseconds`, ms.toFixed(0));
}

/** Over HTTP, each wrong one from an address of its own, so that no limit ends the flood. */
async function benchFlood(bench: Bench, password: string): Promise<void> {
  const { db, add, url } = bench;
  const page = await fetch(`${url}/login`);
  const cookie = page.headers.getSetCookie()[0]?.split(';', 1)[0] ?? '';
  const [, token = ''] = /name="token" value="([^"]+)"/.exec(await page.text()) ?? [];
  const post = (path: string, fields: Record<string, string>, address: string) => fetch(`${url}${path}`, {
    method: 'POST',
    headers: { cookie, 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-for': address },
    body: new URLSearchParams({ token, ...fields }),
    redirect: 'manual',
  });
  const list = () => get(bench, '/ims/oneroster/v1p1/users?limit=1000').then((response) => response.arrayBuffer());
  const [tokenMs, listMs] = [await medianMs(() => bench.requestToken(), 15), await medianMs(list, 15)];
  const answered = { count: 0 };
  const flood = Array.from({ length: wrongOnes }, async (_, at) => {
    const { status } = await post('/login', { estab: school, username: `nobody${at}`, password: 'a guess' }, `198.51.${at % 250}.${Math.floor(at / 250)}`);
    answered.count += 1;
    return status;
  });
  const beside = { token: [] as number[], list: [] as number[] };
  while (answered.count < wrongOnes) {
    beside.token.push(await medianMs(() => bench.requestToken(), 1));
    beside.list.push(await medianMs(list, 1));
  }
  const statuses = await Promise.all(flood);
  const share = `${statuses.filter((one) => one === 401).length} hashed, ${statuses.filter((one) => one === 429).length} asked to wait`;
  for (const [what, alone, during] of [['a token', tokenMs, beside.token], ['a gzipped page of 1,000 users', listMs, beside.list]] as const) {
    add(`${what} beside ${wrongOnes} wrong sign-ins, longest milliseconds`, `${Math.max(...during).toFixed(0)} (alone ${alone.toFixed(0)}; ${share})`);
  }
  const started = performance.now();
  const enter = (at: number) => post('/login', { estab: school, username: `user${at + 1}`, password }, '192.0.2.9');
  const right = await Promise.all(Array.from({ length: rightOnes }, (_, at) => enter(at)));
  if (right.some(({ status }) => status !== 303)) throw new Error('a right sign-in was refused');
  add(`${rightOnes} right sign-ins at once from one address, seconds`, ((performance.now() - started) / 1000).toFixed(1));
  const ask = (estab: string) => (at: number) => post('/school', { estab }, `203.0.113.${at}`);
  const [known, unknown] = await inTurn(ask(school), ask('nowhere'), 100);
  add('a link asked for at /school: unknown school against known', `${ratio(unknown / known)} (${unknown.toFixed(1)} of ${known.toFixed(1)} ms)`);
  await db`delete from wrong_try`;
}

/** The middle of each in milliseconds, one after the other, so that what else the machine does meets both. */
async function inTurn(one: (at: number) => Promise<unknown>, other: (at: number) => Promise<unknown>, times: number): Promise<[number, number]> {
  const taken: [number[], number[]] = [[], []];
  for (let at = 0; at < times; at += 1) {
    taken[0].push(await medianMs(() => one(at), 1));
    taken[1].push(await medianMs(() => other(at), 1));
  }
  const middle = (all: number[]) => all.toSorted((a, b) => a - b)[Math.floor(times / 2)] ?? 0;
  return [middle(taken[0]), middle(taken[1])];
}

async function perSecond(times: number, run: (at: number) => Promise<unknown>, lanes = atOnce): Promise<number> {
  const started = performance.now();
  await Promise.all(Array.from({ length: lanes }, async (_, lane) => {
    for (let at = lane; at < times; at += lanes) await run(at);
  }));
  return times / ((performance.now() - started) / 1000);
}
