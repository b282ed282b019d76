// In charge of browsers that an operator has signed in with before. Whoever knows a name can lock its account with wrong passwords, and
// would keep its owner out for as long as they like: the lock does not hold for a browser of the owner's, which has a limit of its own.
import type { FastifyRequest } from 'fastify';
import { randomUUID } from 'node:crypto';
import { noteOnce } from '../access/audit-trail.ts';
import type { Seal } from '../access/seal.ts';
import { sealedAs } from '../access/sealed-as.ts';
import { hashSecret } from '../access/secrets.ts';
import { findUsedUp, noteTry, type Tried, type TryLimit } from '../access/wrong-tries.ts';
import type { Tx } from '../db/connect.ts';
import { findCookie, renderCookie } from '../http/cookies.ts';
import { consoleTries } from './lock-account.ts';

/** mark: of which account, with which password. id: what its tries are counted by, which nobody can vary. */
export type KnownBrowser = Readonly<{ mark: string; id: string }>;
type Kept = { mark: string; id: string; until: number };
export type KnownParts = Readonly<{ seal: Seal; now: () => number; publicUrl: string }>;

const knownDays = 180;
const knownCookie = { name: 'schoolbell_known', path: '/console' } as const;
/** Of one browser as many as lock an account, and for about as long; of all that one account is known by, twice as many. */
const knownTries: TryLimit = { kind: 'console', what: 'wrong passwords or codes', minutes: 10, most: { pair: 10, client: 20 } };

/** With another password it is another one: all browsers are strange again. */
export function markOf(account: string, passwordHash: string | null): string {
  return hashSecret(`${account} ${passwordHash ?? ''}`).toString('base64url');
}

/** Only for who has shown all that the account asks for. */
export function renderKnownCookie({ seal, now, publicUrl }: KnownParts, mark: string): string {
  const kept: Kept = { mark, id: randomUUID(), until: now() + knownDays * 86_400_000 };
  return renderCookie(knownCookie, seal.seal(JSON.stringify(kept), sealedAs.knownBrowser()).toString('base64url'), publicUrl, knownDays * 86_400);
}

export function findKnownBrowser({ seal, now }: KnownParts, request: FastifyRequest): KnownBrowser | undefined {
  const value = findCookie(request, knownCookie);
  if (!value) return undefined;
  try {
    const sealed = Buffer.from(value, 'base64url');
    // Decoding passes over what is no letter of it: one cookie would have any number of spellings.
    if (sealed.toString('base64url') !== value) return undefined;
    const kept = JSON.parse(seal.open(sealed, sealedAs.knownBrowser())) as Kept;
    if (kept.until < now()) return undefined;
    return { mark: kept.mark, id: kept.id };
  } catch {
    return undefined;
  }
}

/** What a try is held to. isKnown: no lock holds for it, and a wrong one locks nothing. */
export type Held = Readonly<{ isKnown: boolean; limit: TryLimit; tried: Tried }>;

export function holdTry(known: KnownBrowser | undefined, mark: string | undefined, tried: Tried): Held {
  if (known === undefined || known.mark !== mark) return { isKnown: false, limit: consoleTries, tried };
  // Wherever it is: the browser stands in the place of the address.
  return { isKnown: true, limit: knownTries, tried: { client: `known ${known.mark}`, address: `browser ${known.id}` } };
}

/** A wrong try of this name, from this address. It locks nothing where the browser is known: that its tries are used up stands in the trail instead. */
export async function noteHeldTry(tx: Tx, { isKnown, limit, tried }: Held, { name, address }: Readonly<{ name: string; address: string }>): Promise<void> {
  // One at a time, so that of two at once the second sees the first.
  if (isKnown) await tx`select from console_account where sign_in_name = ${name} for no key update`;
  await noteTry(tx, limit, tried);
  if (!isKnown || !(await findUsedUp(tx, limit, tried))) return;
  await noteOnce(tx, { name, via: 'console', from: address }, { action: 'stop known browser after wrong tries' }, limit.minutes);
}
