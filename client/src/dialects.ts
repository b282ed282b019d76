// In charge of what differs between the two variants of the rostering API; no code asks which one it reads.

export type Variant = 'A' | 'B';

/** @internal */
export type Dialect = Readonly<{
  variant: Variant;
  root: string;
  tokenPath: string;
  /** Statuses that may mean that the token is not taken. */
  refusals: readonly number[];
  /** Statuses that, with a Retry-After, mean that the service is busy. */
  busy: readonly number[];
  /** What of a question has an effect; the rest would be ignored without a word. */
  takes: readonly ('filter' | 'sort' | 'orderBy' | 'fields' | 'of')[];
  /** Lists on which a filter would be ignored without a word. */
  unfiltered: readonly string[];
}>;

/** @internal All that is wrong is 400 here, except that no token at all is 403. */
export const variantA: Dialect = {
  variant: 'A',
  root: '/api/ims/oneroster/v1p1',
  tokenPath: '/api/ims/oneroster/v1p1/token',
  refusals: [400, 403],
  busy: [400],
  takes: ['filter'],
  unfiltered: ['enrollments'],
};

/** @internal */
export const variantB: Dialect = {
  variant: 'B',
  root: '/ims/oneroster/v1p1',
  tokenPath: '/ims/oneroster/v1p1/auth/token',
  refusals: [401],
  busy: [],
  takes: ['filter', 'sort', 'orderBy', 'fields', 'of'],
  unfiltered: [],
};
