// In charge of holding what was recorded against the list: offenders that are new, and listed ones that are no more.
import { analyse, fold, type Analysed } from './analyse.ts';
import { entryOf, type Offenders } from './offenders.ts';
import { findFile, isOfTest, type Sources } from './sources.ts';
import type { Tables } from './tables.ts';

/** A backup is of every school: the COPY of a whole table, which nothing else writes in this way. */
const wholeTable = /^copy "\w+" \((?:"\w+"(?:, )?)+\) (?:to stdout|from stdin) \(format text\)$/;

/** What is wrong with each statement of the product that does not keep schools apart. */
export type Offending = ReadonlyMap<string, string>;

export function findOffending(texts: Iterable<string>, tables: Tables, sources: Sources): Offending {
  const offending = new Map<string, string>();
  for (const text of texts) {
    for (const { statement, wrong } of findWrong(text, tables)) {
      if (!offending.has(statement) && !isOfTest(statement, sources)) offending.set(statement, wrong);
    }
  }
  return offending;
}

function findWrong(text: string, tables: Tables): { statement: string; wrong: string }[] {
  if (wholeTable.test(fold(text))) return [];
  let analysed: Analysed[];
  try {
    analysed = analyse(text, tables);
  } catch (error) {
    return [{ statement: fold(text), wrong: `cannot be read: ${(error as Error).message}` }];
  }
  const wrong = analysed.filter(({ unbound }) => unbound.length > 0);
  return wrong.map(({ statement, unbound }) => ({ statement, wrong: `does not compare ${unbound.join(', ')} with the establishment` }));
}

/** In words: what the statement is, what is wrong with it, and what to do. */
export function describeNew(offending: Offending, offenders: Offenders, sources: Sources): string[] {
  const listed = new Set(offenders.flatMap(({ statements }) => Object.values(statements).flat()));
  return [...offending].flatMap(([statement, wrong]) => {
    const entry = entryOf(statement);
    if (listed.has(entry)) return [];
    const file = findFile(statement, sources.product) ?? 'a file of src/ that puts it together';
    const advice = 'Add "estab = $n" for each of these tables, or list it with a reason in test/schools-apart/offenders.ts:';
    return [`${statement}\n  of ${file} ${wrong}.\n  ${advice}\n  ${JSON.stringify(entry)}`];
  });
}

export function describeGone(offending: Offending, offenders: Offenders): string[] {
  const entries = new Set([...offending.keys()].map(entryOf));
  const listed = offenders.flatMap(({ statements }) => Object.entries(statements));
  return listed.flatMap(([file, ofFile]) => {
    const gone = ofFile.filter((entry) => !entries.has(entry));
    return gone.map((entry) => `"${entry}" of ${file} no longer occurs: take it off the list in test/schools-apart/offenders.ts`);
  });
}
