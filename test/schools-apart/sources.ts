// In charge of where a statement was written: in the product, or in a test, whose own statements look at all schools to
// see that nothing else has changed. It is found word for word, with holes where values and names were put in.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fold } from './analyse.ts';

export type Sources = Readonly<{ product: ReadonlyMap<string, string>; tests: ReadonlyMap<string, string> }>;

const root = join(import.meta.dirname, '../..');

export function readSources(): Sources {
  const all = globSync('{src,test,client}/**/*.ts', { cwd: root }).filter((file) => !file.startsWith(join('test', 'schools-apart')));
  // What the client keeps is in its users' databases, which have no schools to keep apart.
  const isTest = (file: string) => file.endsWith('.test.ts') || file.startsWith('test') || file.startsWith('client');
  return { product: readAll([...all.filter((file) => !isTest(file)), ...globSync('migrations/*.sql', { cwd: root })]), tests: readAll(all.filter(isTest)) };
}

function readAll(files: readonly string[]): Map<string, string> {
  // In a template, a backslash is written as two.
  return new Map(files.toSorted().map((file) => [file, fold(readFileSync(join(root, file), 'utf8')).replaceAll('\\\\', '\\')]));
}

/** Of a test alone: what the product asks as well is the product's. */
export function isOfTest(statement: string, { product, tests }: Sources): boolean {
  return findFile(statement, tests) !== undefined && findFile(statement, product) === undefined;
}

export function isOfMigration(statement: string, { product }: Sources): boolean {
  return [...product].some(([file, source]) => file.startsWith('migrations') && source.includes(statement));
}

/** The file in which a statement stands whole; one that is put together from pieces stands in none. */
export function findFile(statement: string, sources: ReadonlyMap<string, string>): string | undefined {
  const pattern = patternOf(statement);
  for (const [file, source] of sources) if (pattern.test(source)) return file;
  return undefined;
}

/** An expression in a template, with braces or a template of its own in it. */
const hole = '\\$\\{(?:[^{}`]|\\{[^{}]*\\}|`[^`]*`)*\\}';

function patternOf(statement: string): RegExp {
  const pieces = statement.split(/(\$\d+|"\w+")/).map((piece, at) => {
    const literal = piece.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
    if (at % 2 === 0) return literal;
    return piece.startsWith('$') ? hole : `(?:${literal}|${hole})`;
  });
  return new RegExp(`(?:^|[\`'";]) ?${pieces.join('')} ?(?:$|[\`'";])`);
}
