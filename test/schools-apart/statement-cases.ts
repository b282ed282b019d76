// In charge of tables of small statements, each with the tables of schools in it that it does not bind.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadModule } from 'libpg-query';
import { analyse } from './analyse.ts';
import { parseTables } from './tables.ts';

await loadModule();
export const tables = parseTables(`
  create table person (estab text collate "C" not null, id text, name text, constraint person_pkey primary key (estab, id));
  create table class (id text, estab text, teacher text);
  create unlogged table work (estab text, id text, lane text, state text);
  create table lane (key text, next_at timestamptz);`);

export type Cases = Record<string, readonly [statement: string, ...unbound: string[]][]>;

export function testCases(cases: Cases): void {
  for (const [name, statements] of Object.entries(cases)) {
    describe(name, () => {
      for (const [statement, ...unbound] of statements) {
        const title = `${unbound.length === 0 ? 'keeps apart' : 'does not'}: ${statement}`;
        test(title, () => assert.deepEqual(analyse(statement, tables).map((one) => [one.statement, one.unbound]), [[statement, unbound]]));
      }
    });
  }
}
