// In charge of what the dialects of one edition of OneRoster have in common: what their records are made of.
import { oneRosterScopes } from '../../access/scopes.ts';
import { isSettled } from '../../collection/measure-collection.ts';
import type { Dialect } from './dialect.ts';

type OfEdition = Pick<Dialect, 'edition' | 'scopes' | 'byAnyKind' | 'properties' | 'isReady' | 'unchangedSince' | 'schemaOf' | 'refusesUnknownSort'>;

export const edition11: OfEdition = {
  edition: 'v1p1',
  scopes: oneRosterScopes.v1p1,
  byAnyKind: false,
  properties: (sql) => sql`t.record`,
  isReady: (sql) => sql`true`,
  unchangedSince: (sql) => sql`0`,
  schemaOf: (refType) => refType,
  refusesUnknownSort: true,
};

export const edition12: OfEdition = {
  edition: 'v1p2',
  scopes: oneRosterScopes.v1p2,
  byAnyKind: true,
  properties: (sql) => sql`(case when t.shared is null then t.record else left(t.record, t.shared) end || coalesce(t.v1p2, ''))`,
  isReady: isSettled,
  unchangedSince: (sql) => sql`r.rendered_later`,
  schemaOf: (refType) => `${refType}_1p2`,
  refusesUnknownSort: false,
};
