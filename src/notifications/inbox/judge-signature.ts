// In charge of what is said of the signature of a call that came in: whether it is right, and if not, what is wrong with it.
import { timingSafeEqual } from 'node:crypto';
import { renderSignature } from '../sign.ts';

/** old: of a secret that was replaced and still works. ended: of one that works no more. */
export type Verdict = 'right' | 'old' | 'ended' | 'too-old' | 'wrong' | 'none';

/** Newest first. */
export type SigningSecret = Readonly<{ text: string; valid: boolean }>;
export type Signed = Readonly<{ headers: Readonly<Record<string, string | undefined>>; body: Uint8Array; seconds: number }>;

/** As receivers are told to: what is older, or from the future, may be a call that somebody else recorded. */
const toleranceSeconds = 300;

/** seconds: when it came. */
export function judgeSignature({ headers, body, seconds }: Signed, secrets: readonly SigningSecret[]): Verdict {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers;
  if (signature === undefined) return 'none';
  if (id === undefined || timestamp === undefined || !/^\d{1,12}$/.test(timestamp)) return 'wrong';
  const given = signature.split(' ');
  // The body is gone through once for each secret, however many signatures a stranger gives.
  const signedBy = secrets.findIndex(({ text }) => {
    const expected = renderSignature(id, Number(timestamp), body, [text]);
    return given.some((one) => isSame(one, expected));
  });
  const secret = secrets[signedBy];
  if (!secret) return 'wrong';
  if (Math.abs(seconds - Number(timestamp)) > toleranceSeconds) return 'too-old';
  if (!secret.valid) return 'ended';
  return signedBy === 0 ? 'right' : 'old';
}

function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}
