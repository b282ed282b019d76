// In charge of statements that need every node of a database on several: what one part that changes rows hands to the next goes to each of them,
// and each part sees what those before it did; and so does a change at the coordinator that asks for what lies everywhere. One that is about
// tables such a database knows has one part that changes rows, the whole, and what it has to know is asked before.
import type { CommonTableExpr, Node, RangeVar } from 'libpg-query';
import type { Place } from '../../src/db/placement.ts';
import { visitNodes } from './visit-nodes.ts';

const changing = ['InsertStmt', 'UpdateStmt', 'DeleteStmt', 'MergeStmt'];

/** What is wrong with it; nothing where none of its tables is known. */
export function judgeParts(statement: Node, isKnown: (table: string) => boolean): string[] {
  let asksKnown = false;
  const changed = new Set<string>();
  visitNodes({ statement }, (kind, value) => {
    asksKnown ||= isKnown((value as RangeVar).relname ?? '');
    const [[part = '', body = {}] = []] = kind === 'CommonTableExpr' ? Object.entries((value as CommonTableExpr).ctequery ?? {}) : [];
    if (changing.includes(part)) changed.add(targetOf(body));
    return true;
  });
  return asksKnown ? [...changed].map((table) => `changes ${table} in WITH`) : [];
}

/** What is wrong with a change at the coordinator; nothing with any other, which is made where the rows of both are. */
export function judgeAsked(statement: Node, placeOf: (table: string) => Place | undefined): string[] {
  const changed = new Set<string>();
  const asked = new Set<string>();
  visitNodes({ statement }, (kind, value) => {
    if (changing.includes(kind) && placeOf(targetOf(value)) === 'coordinator') changed.add(targetOf(value));
    const { relname = '' } = value as RangeVar;
    if (placeOf(relname) === 'everywhere') asked.add(relname);
    return true;
  });
  return changed.size === 0 ? [] : [...asked].map((table) => `asks ${table} for a change of ${[...changed].join(', ')}`);
}

const targetOf = (body: object) => (body as { relation?: RangeVar }).relation?.relname ?? '';
