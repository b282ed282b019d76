// In charge of what a backup consists of, by name: a head, every table as COPY's text in parts, keys, files, and an end that says
// what has to have been there. A file that was cut has no end.
import type { AppliedMigration } from '../db/migrations.ts';

export const formatVersion = 1;
export const entryNames = { head: 'head.json', keys: 'secret-keys.json', files: 'files/', tables: 'tables/', end: 'end.json' } as const;

export type Head = Readonly<{
  format: number;
  product: 'schoolbell';
  version: string;
  takenAt: string;
  postgres: string;
  encoding: string;
  migrations: readonly AppliedMigration[];
}>;

export type TableFacts = Readonly<{ name: string; columns: readonly string[]; rows: number; bytes: number; digest: string }>;
export type FileFacts = Readonly<{ name: string; bytes: number; sha256: string }>;
/** What had not gone out yet, or was under way; and what calls somebody once it ends. */
export type Unsettled = Readonly<{ calls: number; mails: number; waits: number; writebacks: number }>;

export type End = Readonly<{
  tables: readonly TableFacts[];
  counters: readonly Readonly<{ table: string; column: string; last: string; called: boolean }>[];
  files: readonly FileFacts[];
  unsettled: Unsettled;
}>;

export const partName = (table: string, number: number): string => `${entryNames.tables}${table}/${String(number).padStart(8, '0')}.copy`;

/** Of a part of a table: whose it is, and the how manyth. */
export function parsePartName(name: string): { table: string; number: number } | undefined {
  const [, table, number] = /^tables\/([a-z0-9_]+)\/(\d{8})\.copy$/.exec(name) ?? [];
  return table === undefined ? undefined : { table, number: Number(number) };
}

export const newestMigrationOf = ({ migrations }: Head): number => Math.max(0, ...migrations.map(({ version }) => version));
