// In charge of what a check finds: whether it is well, in words, and what is to be done if not.

export type Verdict = 'ok' | 'warn' | 'fail';
export type Finding = { check: string; verdict: Verdict; found: string; todo: string | null };
export type Judged = Omit<Finding, 'check'>;

export const ok = (found: string): Judged => ({ verdict: 'ok', found, todo: null });
export const warn = (found: string, todo: string): Judged => ({ verdict: 'warn', found, todo });
export const fail = (found: string, todo: string): Judged => ({ verdict: 'fail', found, todo });
