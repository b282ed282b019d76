// In charge of the second factor: six digits from an app, which change every thirty seconds, or a recovery code. A secret
// counts once a code of it was right; until then it is nowhere but on the page, sealed. No code is taken twice, and a wrong
// one counts like a wrong password.
import { Secret, TOTP } from 'otpauth';
import { noteLook } from '../access/audit-trail.ts';
import type { Turns } from '../access/hash-pool.ts';
import type { Seal } from '../access/seal.ts';
import { sealedAs } from '../access/sealed-as.ts';
import { requireTriesLeft } from '../access/wrong-tries.ts';
import type { Db, Fragment, Sql, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { holdTry, markOf, noteHeldTry, type KnownBrowser } from './known-browser.ts';
import { countWrong, isUnlocked } from './lock-account.ts';
import { hashRecoveryCode, makeRecoveryCodes } from './recovery-codes.ts';
import { endSession, endSessionsOf, openSession, requireSession, type Opened, type Operator } from './sessions.ts';
import { tryPassword } from './try-sign-in.ts';

/** turn: for those who show their password instead. */
export type FactorParts = Readonly<{ seal: Seal; now: () => number; turn: Turns; publicUrl: string }>;
export type Shown = Readonly<{ typed: string; address: string; known?: KnownBrowser | undefined }>;

const secretBytes = 20;
/** Clocks differ: the step before and the one behind are taken too. */
const stepsAside = 1;
const pendingMinutes = 60;
const wrongCode = 'The code is not right, or the account is locked for a while. Each code is taken once: wait for the next one.';
const wrongProof = 'That is neither a code that is good now nor your password, or the account is locked for a while.';

/** sealed: what comes back with the first code. uri: what a QR code says to an app. */
export type PendingFactor = Readonly<{ secret: string; uri: string; sealed: string }>;
type Kept = { secret: string; until: number };

export function makePendingFactor({ seal, now, publicUrl }: FactorParts, operator: Operator): PendingFactor {
  const secret = new Secret({ size: secretBytes }).base32;
  const kept: Kept = { secret, until: now() + pendingMinutes * 60_000 };
  return { ...describe(secret, operator, publicUrl), sealed: seal.seal(JSON.stringify(kept), sealedAs.pendingSecondFactor(operator.id)).toString('base64url') };
}

/** The same again, for whoever mistyped the first code. */
export function openPendingFactor({ seal, now, publicUrl }: FactorParts, operator: Operator, sealed: string): PendingFactor {
  const kept = readKept(seal, operator.id, sealed);
  if (kept === undefined || kept.until < now())
    throw new SchoolbellError('invalid_request', 'This page has grown old. Begin again with a new QR code.');
  return { ...describe(kept.secret, operator, publicUrl), sealed };
}

function readKept(seal: Seal, account: string, sealed: string): Kept | undefined {
  try {
    return JSON.parse(seal.open(Buffer.from(sealed, 'base64url'), sealedAs.pendingSecondFactor(account))) as Kept;
  } catch {
    return undefined;
  }
}

function describe(secret: string, { signInName }: Operator, publicUrl: string): Omit<PendingFactor, 'sealed'> {
  const totp = new TOTP({ issuer: `Schoolbell ${new URL(publicUrl).hostname}`, label: signInName, secret });
  return { secret, uri: totp.toString() };
}

/** Of which step a code is; undefined: of none near. */
function findStep(secret: string, typed: string, now: number): number | undefined {
  const totp = new TOTP({ secret });
  const delta = totp.validate({ token: typed, timestamp: now, window: stepsAside });
  return delta === null ? undefined : totp.counter({ timestamp: now }) + delta;
}

const digitsOf = (typed: string) => typed.replaceAll(/[\s-]/g, '');
const isDigits = (typed: string) => /^\d{6}$/.test(digitsOf(typed));

/** Whoever was let in without ends; this browser goes on with a session that has shown it. */
export async function enrol(
  db: Db,
  parts: FactorParts,
  operator: Operator,
  { sealed, typed, address }: Shown & { sealed: string },
): Promise<{ codes: readonly string[]; opened: Opened }> {
  const { secret } = openPendingFactor(parts, operator, sealed);
  const step = isDigits(typed) ? findStep(secret, digitsOf(typed), parts.now()) : undefined;
  if (step === undefined)
    throw new SchoolbellError('unprocessable', 'The code is not right. Type the six digits that the app shows now; is the clock of your phone right?');
  const { codes, hashes } = makeRecoveryCodes();
  const opened = await db.begin(async (tx) => {
    const stored = parts.seal.seal(secret, sealedAs.secondFactor(operator.id));
    const added = await tx`
      update console_account set sealed_totp = ${stored}, totp_step = ${step}, recovery_hashes = ${hashes}::bytea[]
      where id = ${operator.id} and sealed_totp is null returning id`;
    if (added.length === 0) throw new SchoolbellError('conflict', 'This account has a second factor already. Switch it off before you set up another.');
    await requireSession(tx, operator);
    await endSessionsOf(tx, operator.id);
    return openSession(tx, operator.id, { address, publicUrl: parts.publicUrl, shown: true });
  });
  return { codes, opened };
}

/** After the password. The session is replaced in the transaction that takes the code. */
export async function prove(db: Db, parts: FactorParts, operator: Operator, shown: Shown): Promise<Opened> {
  const { address } = shown;
  const opened = await tryCode(db, parts, operator, shown, async (tx, by) => {
    await requireSession(tx, operator);
    await endSession(tx, operator.key);
    await noteLook(tx, { name: operator.signInName, via: 'console', from: address }, { action: 'show second factor', detail: { by } });
    return openSession(tx, operator.id, { address, publicUrl: parts.publicUrl, shown: true });
  });
  if (!opened) throw new SchoolbellError('unprocessable', wrongCode);
  return opened;
}

export async function renewRecoveryCodes(db: Db, parts: FactorParts, operator: Operator, shown: Shown): Promise<readonly string[]> {
  return withProof(db, parts, operator, shown, async (tx) => {
    const { codes, hashes } = makeRecoveryCodes();
    const renewed = await tx`
      update console_account set recovery_hashes = ${hashes}::bytea[] where id = ${operator.id} and sealed_totp is not null returning id`;
    if (renewed.length === 0) throw new SchoolbellError('conflict', 'This account has no second factor.');
    return codes;
  });
}

/** Other sessions of the account end, as with everything that makes it easier to open. */
export async function switchOff(db: Db, parts: FactorParts, operator: Operator, shown: Shown): Promise<void> {
  await withProof(db, parts, operator, shown, async (tx) => {
    if (await isSecondFactorRequired(tx)) throw new SchoolbellError('conflict', 'An admin requires a second factor of everybody: it cannot be switched off.');
    await forgetSecondFactor(tx, operator.id);
    await endSessionsOf(tx, operator.id, operator.key);
  });
}

export async function forgetSecondFactor(tx: Tx, account: string): Promise<void> {
  await tx`update console_account set sealed_totp = null, totp_step = null, recovery_hashes = '{}' where id = ${account}`;
}

export async function isSecondFactorRequired(sql: Sql): Promise<boolean> {
  const [rule] = await sql<{ required: boolean }[]>`select required from console_rule where name = 'second factor'`;
  return rule?.required === true;
}

export async function countRecoveryCodes(db: Db, account: string): Promise<number> {
  const [row] = await db<{ left: number }[]>`select cardinality(recovery_hashes) as left from console_account where id = ${account}`;
  return row?.left ?? 0;
}

/** A code, a recovery code or the password: whoever finds a browser signed in changes nothing of this. */
async function withProof<T>(db: Db, parts: FactorParts, operator: Operator, shown: Shown, work: (tx: Tx) => Promise<T>): Promise<T> {
  const [recovery] = await db`select from console_account where id = ${operator.id} and ${hashRecoveryCode(shown.typed)} = any(recovery_hashes)`;
  const inside = async (tx: Tx) => {
    await requireSession(tx, operator);
    return { value: await work(tx) };
  };
  const done = isDigits(shown.typed) || recovery
    ? await tryCode(db, parts, operator, shown, inside)
    : await tryPassword(db, parts.turn, { name: operator.signInName, password: shown.typed, address: shown.address }, inside);
  if (!done) throw new SchoolbellError('unprocessable', wrongProof);
  return done.value;
}

/** One try at a time for an account, so that many at once do not slip by the limits. Undefined: it is wrong, which is counted. */
async function tryCode<T>(
  db: Db,
  parts: FactorParts,
  { id, signInName }: Operator,
  { typed, address, known }: Shown,
  work: (tx: Tx, by: string) => Promise<T>,
): Promise<T | undefined> {
  return db.begin(async (tx) => {
    const [account] = await tx<{ hash: string | null }[]>`select password_hash as hash from console_account where id = ${id} for no key update`;
    const held = holdTry(known, account && markOf(id, account.hash), { client: signInName, address });
    await requireTriesLeft(tx, held.limit, held.tried);
    const unlocked = isUnlocked(tx, held.isKnown);
    const by = isDigits(typed) ? await takeCode(tx, parts, id, digitsOf(typed), unlocked) : await takeRecoveryCode(tx, id, typed, unlocked);
    if (by !== undefined) return work(tx, by);
    await countWrong(tx, held.isKnown ? null : id, address);
    await noteHeldTry(tx, held, { name: signInName, address });
    return undefined;
  });
}

async function takeCode(tx: Tx, { seal, now }: FactorParts, account: string, digits: string, unlocked: Fragment): Promise<string | undefined> {
  const [factor] = await tx<{ sealed: Uint8Array }[]>`select sealed_totp as sealed from console_account where id = ${account} and sealed_totp is not null`;
  const step = factor && findStep(seal.open(factor.sealed, sealedAs.secondFactor(account)), digits, now());
  if (step === undefined) return undefined;
  const taken = await tx`
    update console_account set totp_step = ${step}, wrong_tries = 0, locked_until = null
    where id = ${account} and sealed_totp = ${factor?.sealed ?? null} and (totp_step is null or totp_step < ${step}) and ${unlocked} returning id`;
  return taken.length > 0 ? 'code' : undefined;
}

async function takeRecoveryCode(tx: Tx, account: string, typed: string, unlocked: Fragment): Promise<string | undefined> {
  const hash = hashRecoveryCode(typed);
  const taken = await tx`
    update console_account set recovery_hashes = array_remove(recovery_hashes, ${hash}::bytea), wrong_tries = 0, locked_until = null
    where id = ${account} and ${hash}::bytea = any(recovery_hashes) and ${unlocked} returning id`;
  return taken.length > 0 ? 'recovery code' : undefined;
}
