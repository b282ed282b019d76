// In charge of what is kept of a receiver's answer, and shown to its application: nothing of answers from addresses that
// are not public, or an application could read through us what only we can reach.
import { isUtf8 } from 'node:buffer';
import { isAllowedAddress, type AllowList } from '../http/address-guard.ts';
import { outboundLimits } from '../http/outbound.ts';

export type Answered = { headers: Readonly<Record<string, string>>; response: Buffer | undefined };
/** sealed: the call carries the school secret, which a receiver may send back. */
export type Circumstances = { address: string | null; sealed: boolean; answersFrom: AllowList };

const mostHeaders = 40;
const longestValue = 500;
/** Whoever sets these meant them for the caller alone. */
const confidential = /cookie|auth|token|secret|session|signature|passw|credential|key/i;
const revealing: readonly string[] = ['www-authenticate'];
/** What a receiver can hardly put a secret into. */
const plain: readonly string[] = ['content-type', 'content-length', 'date', 'retry-after', 'server'];
const shownBytes = 16;

/** Undefined where nothing may be kept or shown. */
export function keepAnswer({ headers, response }: Answered, { address, sealed, answersFrom }: Circumstances): Answered | undefined {
  if (address === null || !isAllowedAddress(address, answersFrom)) return undefined;
  const kept = Object.entries(headers)
    .filter(([name]) => (sealed ? plain.includes(name) : revealing.includes(name) || !confidential.test(name)))
    .slice(0, mostHeaders)
    .map(([name, value]) => [name.slice(0, longestValue), value.slice(0, longestValue)]);
  return { headers: Object.fromEntries(kept) as Record<string, string>, response: sealed ? undefined : response };
}

/** As text, without what could steer a terminal; what is no text is described. */
export function renderResponse(response: Buffer): string {
  // What was cut off may end within a character.
  const cut = response.length >= outboundLimits.keptBytes ? [0, 1, 2, 3] : [0];
  const text = cut.map((bytes) => response.subarray(0, response.length - bytes)).find((bytes) => isUtf8(bytes));
  if (text !== undefined && !text.includes(0)) return text.toString('utf8').replaceAll(/[\p{Cc}--[\t\n\r]]/gv, '\u{fffd}');
  return `(${response.length} bytes that are no text, beginning with ${response.subarray(0, shownBytes).toString('hex')})`;
}
