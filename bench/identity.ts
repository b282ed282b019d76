// In charge of the figures of identity: sign-ins against bare argon2id with the same parameters, QR codes against the
// bare library, and GetUsers of 10,000 people.
import { argon2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import QRCode from 'qrcode';
import sharp from 'sharp';
import { parseAllowList } from '../src/http/address-guard.ts';
import { createOutbound } from '../src/http/outbound.ts';
import { getUsers } from '../src/identity/get-users.ts';
import { tryLogin } from '../src/identity/logins.ts';
import { argon2Parameters, hashPassword } from '../src/identity/passwords.ts';
import { parseQrRequest } from '../src/identity/parse-qr-request.ts';
import { generateQrCode } from '../src/identity/qr-code.ts';
import { medianMs, ratio, type Bench } from './bench.ts';

const people = 10_000;
const tries = 64;
const atOnce = 4;
const codes = 100;
const school = 'identity';

export async function benchIdentity({ db, add }: Bench): Promise<void> {
  await db`insert into establishment (estab, name, email) values (${school}, 'Identity', 'identity@school.example')`;
  await db`
    insert into roster_user (estab, sourced_id, kind, status, version, enabled_user, org_ids, role, username, given_name, family_name, email, record)
    select ${school}, 'u' || n, 'student', 'active', 1, true, '{o}', 'student', 'user' || n, 'Given' || n, 'Family' || n, 'user' || n || '@school.example', '' from generate_series(1, ${people}) n`;
  await db`analyze roster_user`;
  const password = 'a long enough phrase';
  await db`insert into login (estab, presence_id, username, password_hash) select ${school}, presence_id(${school}, 'u' || n), 'user' || n, ${await hashPassword(password)} from generate_series(1, ${tries}) n`;

  const { memory, passes, parallelism, tagLength } = argon2Parameters;
  const hash = promisify(argon2);
  const bare = await perSecond(tries, () => hash('argon2id', { message: password, nonce: randomBytes(16), memory, passes, parallelism, tagLength }));
  const signIns = await perSecond(tries, async (at) => {
    if ((await tryLogin(db, school, `user${at + 1}`, password)).kind !== 'right') throw new Error('a sign-in failed');
  });
  add('sign-ins: share of bare argon2id', `${ratio(signIns / bare)} (${signIns.toFixed(0)} of ${bare.toFixed(0)} a second)`, '>= 0.8', signIns / bare >= 0.8);

  const outbound = createOutbound(parseAllowList([]));
  // As wide as ours: most of the time goes into pixels.
  const width = (await sharp((await generateQrCode({ outbound }, parseQrRequest({ text: 'https://school.example/visit/0?term=autumn' }), 'png')).bytes).metadata()).width;
  const text = (at: number) => `https://school.example/visit/${at}?term=autumn`;
  const plain = await perSecond(codes, (at) => QRCode.toBuffer(text(at), { errorCorrectionLevel: 'M', width }));
  const ours = await perSecond(codes, (at) => generateQrCode({ outbound }, parseQrRequest({ text: text(at) }), 'png'));
  await outbound.close();
  add('QR codes, each read back: share of the bare library', `${ratio(ours / plain)} (${ours.toFixed(0)} of ${plain.toFixed(0)} a second)`, '>= 0.5', ours / plain >= 0.5);

  const ms = await medianMs(() => getUsers(db, { rp: 'bench', estab: school }, {}), 7);
  add(`GetUsers of ${people.toLocaleString('en')} people, milliseconds`, ms.toFixed(0));
}

async function perSecond(times: number, run: (at: number) => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await Promise.all(Array.from({ length: atOnce }, async (_, lane) => {
    for (let at = lane; at < times; at += atOnce) await run(at);
  }));
  return times / ((performance.now() - started) / 1000);
}
