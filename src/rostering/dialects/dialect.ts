// In charge of what may differ between the variants of the rostering API. A difference is a field here; no code asks
// which variant it serves.
import type { ErrorShape } from '../../http/error-shape.ts';
import type { OneRosterScope } from '../../access/scopes.ts';
import type { RosteringTokenName } from '../../access/rostering-token.ts';
import type { RosteringTokenKind } from '../../access/tokens.ts';
import type { Fragment, Sql } from '../../db/connect.ts';
import type { CollectionName, Edition } from '../../roster/resource.ts';
import type { Operator } from '../filter.ts';

export type Dialect = Readonly<{
  name: string;
  /** For people. */
  title: string;
  /** Of operations in the reference, which are told apart by it. */
  suffix: RosteringTokenName;
  /** The credential that its operations take, as the reference calls it. */
  credential: string;
  /** Of OneRoster: which fields records have, and how they are shown. */
  edition: Edition;
  /** Path under which the operations stand. */
  root: string;
  tokenKind: RosteringTokenKind;
  /** What a token that was narrowed is narrowed to, by what each opens. */
  scopes: Readonly<Record<OneRosterScope, string>>;
  /** Operations offered, by name. */
  offers: (operation: string) => boolean;
  filter: Readonly<{
    /** Fields that a filter may name; undefined means every field of the record. */
    fields: readonly string[] | undefined;
    operators: readonly Operator[];
    /** Whether expressions may be joined by and / or. */
    joined: boolean;
    /** Collections on which the filter parameter is ignored. */
    ignoredOn: readonly CollectionName[];
    /** Whether one that is blank is refused; otherwise it is none. */
    refusesBlank: boolean;
  }>;
  /** Whether sort, orderBy and fields have an effect. */
  sorts: boolean;
  selects: boolean;
  /** Whether a sort by what is no field is refused; otherwise it has no effect. */
  refusesUnknownSort: boolean;
  errors: ErrorShape;
  /** Of an error's body. */
  errorSchema: Readonly<Record<string, unknown>>;
  /** Whether a token may open several schools, in which a sourcedId may occur more than once. */
  severalSchools: boolean;
  /** Whether somebody who is of several kinds is shown to whoever may see one of them; otherwise the main one decides. */
  byAnyKind: boolean;
  /** The properties of a row t behind the first ones. */
  properties: (sql: Sql) => Fragment;
  /** What the schema of a record is called. */
  schemaOf: (refType: string) => string;
}>;
