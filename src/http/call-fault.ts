// In charge of the words for why an outgoing call failed, for those who run its receiver.

export type CallFault = { errorClass: string | null; status: number | null; message: string | null };

/** Undefined where nothing failed. What went wrong on our side is said as that, without its details. */
export function describeFault({ errorClass, status, message }: CallFault): string | undefined {
  if (errorClass === null) return undefined;
  if (errorClass === 'unexpected' || errorClass === 'unstorable') return 'this attempt failed on our side; it does not count against the schedule';
  if (errorClass === 'redirect') return `the receiver answered ${status ?? 'with a redirect'}: redirects are not followed`;
  if (errorClass.startsWith('status_')) return `the receiver answered ${status ?? errorClass.slice(7)}`;
  return message === null ? errorClass : `${errorClass}: ${message}`;
}
