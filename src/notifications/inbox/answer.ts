// In charge of what an inbox answers: the status it was told to give, with a sentence that says whose answer that is.
import type { Received } from './receive.ts';

export type InboxReply = Readonly<{ status: number; headers: Readonly<Record<string, string>>; text: string }>;

const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const;
const texts: Readonly<Record<number, string>> = {
  200: 'This inbox has taken the call.\n',
  404: 'There is no such inbox.\n',
  410: 'This inbox has taken the call, and was told to answer 410.\n',
  429: 'This inbox has taken as many calls as it does in a minute. This one is not kept.\n',
  500: 'This inbox has taken the call, and was told to answer 500.\n',
  503: 'This inbox has taken the call, and was told to keep its callers waiting; too many are kept waiting already.\n',
};

function reply(status: number, more: Record<string, string> = {}): InboxReply {
  return { status, headers: { ...headers, ...more }, text: texts[status] ?? '' };
}

export const noRoom: InboxReply = reply(503, { 'retry-after': '10' });

/** Of one that is slow: what it answers in the end. Undefined: nothing, ever. */
export function answerOf(received: Received): InboxReply | undefined {
  if (received.kind === 'unknown') return reply(404);
  if (received.kind === 'too many') return reply(429, { 'retry-after': String(received.wait) });
  if (received.answer === 'never') return undefined;
  return reply(received.answer === 'slow' ? 200 : Number(received.answer));
}
