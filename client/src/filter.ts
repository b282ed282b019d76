// In charge of writing filters: where('role').is('student').and('status').is('active'). `and` binds tighter than `or`, and
// there are no brackets, as in OneRoster.
import type { Base, Status } from './records.ts';

type Text<T> = Extract<NonNullable<T> extends readonly (infer One)[] ? One : NonNullable<T>, string>;

/** What a filter may name: a field, an id behind a reference, metadata. */
export type FieldOf<R> = {
  [Name in keyof R & string]: Name extends 'metadata'
    ? `metadata.${string}`
    : NonNullable<R[Name]> extends { sourcedId: string } | readonly { sourcedId: string }[]
      ? `${Name}.sourcedId`
      : NonNullable<R[Name]> extends readonly { identifier: string }[]
        ? `${Name}.type` | `${Name}.identifier`
        : Name;
}[keyof R & string];

/** Fields with a vocabulary take its words alone; those in time take a Date as well. */
export type ValueOf<R, F> = F extends keyof R ? (F extends `${string}Date` | 'dateLastModified' ? string | Date : Text<R[F]>) : string;

export type Filter<R> = { toString(): string; and: Where<R>; or: Where<R> };

/** On a list, `is` means has all of these, separated by commas, and `contains` has any. */
export type Comparison<R, V> = {
  [Operator in 'is' | 'isNot' | 'above' | 'atLeast' | 'below' | 'atMost']: (value: V) => Filter<R>;
} & { contains(value: string): Filter<R> };

export type Where<R> = <F extends FieldOf<R>>(field: F) => Comparison<R, ValueOf<R, F>>;

/** All that variant A can filter by. */
export type WhereStatus = (field: keyof Pick<Base, 'status'>) => { is(value: Status): { toString(): string } };

const operators = { is: '=', isNot: '!=', above: '>', atLeast: '>=', below: '<', atMost: '<=', contains: '~' } as const;

/** @internal */
export function createWhere<R>(before = ''): Where<R> {
  return (field) => {
    const compare = (operator: string) => (value: string | Date): Filter<R> => {
      const text = value instanceof Date ? value.toISOString() : value;
      const filter = `${before}${field}${operator}'${text.replaceAll("'", "''")}'`;
      return { toString: () => filter, and: createWhere(`${filter} and `), or: createWhere(`${filter} or `) };
    };
    const comparison = Object.fromEntries(Object.entries(operators).map(([name, operator]) => [name, compare(operator)]));
    return comparison as unknown as Comparison<R, ValueOf<R, typeof field>>;
  };
}
