// Reads migrations/NNNN_*.sql in order. Comments on the first lines of a file say how it is applied and which versions stop working with it.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SchoolbellError } from '../errors.ts';

export type Migration = Readonly<{
  version: number;
  name: string;
  checksum: string;
  /** One by one, each for itself and each repeatable; otherwise everything is one transaction. */
  outside: boolean;
  statements: readonly string[];
  /** Code that does not know the migration of this number does not work any more after this one; null: all of it goes on working. */
  breaksBefore: number | null;
}>;

/** A migration as a database or a backup records it. */
export type AppliedMigration = Pick<Migration, 'version' | 'name' | 'checksum'>;

export const migrationsFolder = join(import.meta.dirname, '../../migrations');

const headers = { outside: /^-- outside a transaction$/, breaks: /^-- breaks versions before (\d{4})$/ } as const;
const betweenStatements = /^-- next$/m;

export function readMigrations(folder = migrationsFolder): Migration[] {
  return readdirSync(folder)
    .filter((file) => /^\d{4}_.+\.sql$/.test(file))
    .toSorted()
    .map((file) => parseMigration(file, readFileSync(join(folder, file), 'utf8')));
}

/** What to do with a database or backup of an unreleased version. */
export const adviceForUnreleased =
  'It cannot be upgraded; nothing was changed. With the version that made it, export each school (export --estab <estab> <zip>); then start this ' +
  'version with an empty database, add the schools and import the files. An export carries the roster alone. It does not carry: grants (what schools ' +
  'allow applications to read), applications and their secrets, logins and passwords, webhooks, settings and credentials of sources, attendance marks ' +
  'and writebacks, console accounts, deliveries that have not gone out, and history (earlier versions, import reports, the audit log)';

/**
 * Refuses a database or backup that was made with other migrations under the same numbers. Released migrations never change, so only a version
 * that was never released can have made it.
 */
export function requireReleased(kind: 'database' | 'backup', applied: Iterable<AppliedMigration>, migrations: readonly Migration[]): void {
  for (const { version, name, checksum } of applied) {
    const own = migrations.find((one) => one.version === version);
    if (own === undefined || (own.name === name && own.checksum === checksum)) continue;
    throw new SchoolbellError(
      'conflict',
      `this ${kind} was made by an unreleased version of Schoolbell: its migration ${name} is not the ${own.name} of this version. ${adviceForUnreleased}`,
    );
  }
}

export function parseMigration(name: string, text: string): Migration {
  const lines = text.split(/\r?\n/);
  const opening = lines.slice(0, lines.findIndex((line) => !line.startsWith('--')));
  const outside = opening.some((line) => headers.outside.test(line));
  const breaks = opening.map((line) => headers.breaks.exec(line)?.[1]).find((number) => number !== undefined);
  const statements = outside ? text.split(betweenStatements).map((statement) => statement.trim()) : [text];
  for (const statement of outside ? statements : []) requireRepeatable(name, statement);
  return {
    version: Number(name.slice(0, 4)),
    name,
    checksum: createHash('sha256').update(text).digest('hex'),
    outside,
    statements,
    breaksBefore: breaks === undefined ? null : Number(breaks),
  };
}

const makesIndex = /\bcreate\s+(?:unique\s+)?index\b/i;
const makesIndexAgain = /\bcreate\s+(?:unique\s+)?index\s+concurrently\s+if\s+not\s+exists\s+(\w+)/i;

/** The index that a statement makes while others write. */
export function findIndexName(statement: string): string | undefined {
  return makesIndexAgain.exec(statement)?.[1];
}

/** What makes the same in a transaction, where nobody else writes. */
export function withoutConcurrently(statement: string): string {
  return findIndexName(statement) === undefined ? statement : statement.replace(/(\bindex\s+)concurrently\s+/i, '$1');
}

function requireRepeatable(name: string, statement: string): void {
  if (makesIndex.test(statement) && findIndexName(statement) === undefined)
    throw new Error(`migration ${name}: outside a transaction an index is made with "create index concurrently if not exists <name>"`);
}
