// In charge of holding what was recorded against the list: offenders that are new, and listed ones that are no more.
import { placements } from '../../src/db/placement.ts';
import { analyse, fold, type Analysed } from './analyse.ts';
import { judgeClocks } from './clocks.ts';
import { entryOf, type Offenders } from './offenders.ts';
import { findFile, isOfMigration, isOfTest, type Sources } from './sources.ts';
import { judgeOneSchool, placedBy, type Placed } from './one-school.ts';
import { judgeAsked, judgeParts } from './parts.ts';
import type { Tables } from './tables.ts';

/** Of every school: the COPY of a whole table by a backup, and its rows counted when it comes to lie elsewhere; nothing else is written in these ways. */
const wholeTable = /^(?:copy "\w+" \((?:"\w+"(?:, )?)+\) (?:to stdout|from stdin) \(format text\)|select count\(\*\)::float8 as count from "\w+")$/;

/** Of tables that lie with their school; nobody can list these. */
const notAlone = 'is not about one school alone';
const notGiven = 'asks for a value that has to be given';
const notWhole = 'needs every node';
const strictAdvice =
  'Ask one school at a time, what the coordinator has by itself, give the time as a parameter (src/db/clock.ts), and change one thing after the '
  + 'other: see docs/decisions/0051';

/** What is wrong with each statement of the product that does not keep schools apart. */
export type Offending = ReadonlyMap<string, string>;

/** known: to a database on several nodes. */
export function findOffending(
  texts: Iterable<string>,
  tables: Tables,
  sources: Sources,
  places = placements,
  known: ReadonlySet<string> = new Set(),
): Offending {
  const placed = placedBy(places, tables);
  const offending = new Map<string, string>();
  for (const text of texts) {
    for (const { statement, wrong } of findWrong(text, { tables, placed, sources, known })) {
      if (!offending.has(statement) && !isOfTest(statement, sources)) offending.set(statement, wrong);
    }
  }
  return offending;
}

type Judging = Readonly<{ tables: Tables; placed: Placed; sources: Sources; known: ReadonlySet<string> }>;

function findWrong(text: string, { tables, placed, sources, known }: Judging): { statement: string; wrong: string }[] {
  if (wholeTable.test(fold(text))) return [];
  let analysed: Analysed[];
  try {
    analysed = analyse(text, tables);
  } catch (error) {
    return [{ statement: fold(text), wrong: `cannot be read: ${(error as Error).message}` }];
  }
  return analysed.flatMap(({ statement, node, unbound }) => {
    const elsewhere = unbound.filter((table) => !placed.isOfSchool(table));
    const loose = elsewhere.length > 0 ? [`does not compare ${elsewhere.join(', ')} with the establishment`] : [];
    const strict = node ? judgeOneSchool(node, placed) : [];
    const parts = node ? [...judgeParts(node, (table) => known.has(table)), ...judgeAsked(node, placed.placeOf)] : [];
    const clocks = node ? judgeClocks(node, (table) => known.has(table)) : [];
    const severe = [
      ...(strict.length > 0 ? [`${notAlone}: it ${strict.join(', and ')}`] : []),
      ...(clocks.length > 0 ? [`${notGiven}: it ${clocks.join(', and ')}`] : []),
      ...(parts.length > 0 ? [`${notWhole}: it ${parts.join(', and ')}`] : []),
    ];
    // Migrations are of a database on one node; those of a spread one see to it themselves, see docs/decisions/0051.
    const wrong = [...(severe.length > 0 && isOfMigration(statement, sources) ? [] : severe), ...loose];
    return wrong.length > 0 ? [{ statement, wrong: wrong.join('; ') }] : [];
  });
}

/** In words: what the statement is, what is wrong with it, and what to do. */
export function describeNew(offending: Offending, offenders: Offenders, sources: Sources): string[] {
  const listed = new Set(offenders.flatMap(({ statements }) => Object.values(statements).flat()));
  return [...offending].flatMap(([statement, wrong]) => {
    const entry = entryOf(statement);
    const isStrict = [notAlone, notGiven, notWhole].some((words) => wrong.startsWith(words));
    if (listed.has(entry) && !isStrict) return [];
    const file = findFile(statement, sources.product) ?? 'a file of src/ that puts it together';
    if (isStrict) return [`${statement}\n  of ${file} ${wrong}.\n  ${strictAdvice}`];
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
