// In charge of one call to a provider that does not give up at the first fault: what passes by itself is tried again
// after a while, and what does not is said in words that a school understands.
import type { ErrorClass, Outbound, OutboundLimits, OutboundResult } from '../../../http/outbound.ts';
import { parseRetryAfter } from '../../../outbox/schedule.ts';
import { version } from '../../../version.ts';
import { MisError } from '../../connector.ts';

/** A page of 5,000 records is a few megabytes, and a provider may take its time to gather them. */
export const pageLimits: OutboundLimits = { connectMs: 5_000, totalMs: 120_000, readBytes: 64 * 1024 * 1024, keptBytes: 64 * 1024 * 1024 };

export type ProviderAnswer = Readonly<{ status: number; headers: Readonly<Record<string, string>>; body: Buffer }>;
export type Call = { method: 'GET' | 'POST'; url: string; headers: Record<string, string>; body?: string; totalMs?: number };

export type Persistence = Readonly<{
  outbound: Outbound;
  now: () => number;
  pause: (ms: number) => Promise<void>;
  /** Milliseconds before the second, third, … try. */
  waits: readonly number[];
}>;

export const usualWaits: readonly number[] = [1_000, 5_000, 15_000];
const longestAskedWaitMs = 60_000;
const spread = 0.2;

const timeouts: readonly ErrorClass[] = ['timeout', 'connect_timeout'];
/** Here the next try would end in the same way. */
const lasting: readonly ErrorClass[] = ['invalid_url', 'blocked_address', 'tls_error', 'body_too_large'];

/** Gives every answer below 500 but 429; throws for the rest, once the last try has failed. */
export async function callPersistently({ outbound, now, pause, waits }: Persistence, call: Call): Promise<ProviderAnswer> {
  for (let tries = 1; ; tries += 1) {
    const result = await outbound.call({
      method: call.method,
      url: call.url,
      headers: { accept: 'application/json', 'user-agent': `Schoolbell/${version}`, ...call.headers },
      body: call.body === undefined ? null : Buffer.from(call.body),
      totalMs: call.totalMs,
    });
    const { status, headers, error } = result;
    // An answer that broke off has a status too.
    if (status !== undefined && !error && status !== 429 && status < 500) return { status, headers, body: result.response };
    const wait = waits[tries - 1];
    if (wait === undefined || (error && lasting.includes(error.class))) throw describeFailure(call.url, result, tries);
    const asked = parseRetryAfter(headers['retry-after'], now());
    await pause(asked === undefined ? wait * (1 - spread + 2 * spread * Math.random()) : Math.min(asked * 1000, longestAskedWaitMs));
  }
}

function describeFailure(url: string, { status, error }: OutboundResult, tries: number): MisError {
  const who = `The provider at ${hostOf(url)}`;
  const often = tries > 1 ? `; it was tried ${tries} times` : '';
  if (error?.class === 'blocked_address' || error?.class === 'invalid_url')
    return new MisError('Error', `The provider's address may not be called. ${error.message}`, { later: false });
  if (error?.class === 'tls_error')
    return new MisError('Error', `${who} cannot be trusted with an encrypted connection: ${error.message}. Ask the provider to put its certificate right.`, {
      later: false,
    });
  if (error?.class === 'body_too_large')
    return new MisError('Error', `${who} sends more at once than is read (${pageLimits.readBytes / 1024 / 1024} MiB).`, { later: false });
  if (error && timeouts.includes(error.class)) return new MisError('Timeout', `${who} did not answer in time (${error.message})${often}.`);
  if (error?.class === 'dns_error') return new MisError('Error', `${who} cannot be found: there is no such name at present${often}. Check the address.`);
  if (error && status !== undefined) return new MisError('Error', `${who} broke off in the middle of an answer (${error.message})${often}.`);
  if (error) return new MisError('Error', `${who} could not be reached (${error.message})${often}.`);
  if (status === 429) return new MisError('Error', `${who} asks to be called less often (429)${often}.`);
  return new MisError('Error', `${who} is out of order at present (${status})${often}.`);
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url.slice(0, 100);
}
