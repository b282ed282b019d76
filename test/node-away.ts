// In charge of a database on which one school cannot be had, as when the node that it lies on is away: statements about it fail, others do not.
import type { Db } from '../src/db/connect.ts';
import { DatabaseUnavailable } from '../src/db/unavailable.ts';

/** asked: whom each statement outside transactions was about, by the first text that it was given. */
export function withoutNodeOf(db: Db, away: string, asked: string[] = []): Db {
  return new Proxy(db, {
    apply(target, _, [strings, ...values]: [TemplateStringsArray, ...unknown[]]) {
      const ask = target as unknown as (strings: TemplateStringsArray, ...values: unknown[]) => unknown;
      // A piece of a statement is asked of nobody.
      if (!Array.isArray(strings) || !/^\s*(?:select|insert|update|delete)\s/.test(strings[0] ?? '')) return ask(strings, ...values);
      asked.push(...values.filter((value) => typeof value === 'string').slice(0, 1));
      return values.includes(away) ? Promise.reject(new DatabaseUnavailable('silent', 'its node is away')) : ask(strings, ...values);
    },
  });
}
