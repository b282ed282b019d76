// In charge of what the dialects of one edition of OneRoster have in common: what their records are made of.
import { oneRosterScopes } from '../../access/scopes.ts';
import type { Dialect } from './dialect.ts';

type OfEdition = Pick<Dialect, 'edition' | 'scopes' | 'byAnyKind' | 'properties' | 'schemaOf' | 'refusesUnknownSort'>;

export const edition11: OfEdition = {
  edition: 'v1p1',
  scopes: oneRosterScopes.v1p1,
  byAnyKind: false,
  properties: (sql) => sql`t.record`,
  schemaOf: (refType) => refType,
  refusesUnknownSort: true,
};

export const edition12: OfEdition = {
  edition: 'v1p2',
  scopes: oneRosterScopes.v1p2,
  byAnyKind: true,
  properties: (sql) => sql`(case when t.shared is null then t.record else left(t.record, t.shared) end || coalesce(t.v1p2, ''))`,
  schemaOf: (refType) => `${refType}_1p2`,
  refusesUnknownSort: false,
};
