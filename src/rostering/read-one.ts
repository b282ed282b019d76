// In charge of one record by its id, wherever it is: of several schools each is asked, since more than one may have it.
import { atOnce } from '../at-once.ts';
import type { Question } from './question.ts';
import type { Listed } from './render.ts';
import { readEach, readPage, type Reader } from './statements.ts';

/** It is looked for in so many schools with one round trip, and over so many connections. */
const schoolsTogether = 64;
const groupsAtOnce = 4;
const first = { limit: 1, offset: 0 };

/** More than one where several schools have it. */
export async function readOne(reader: Reader, question: Question): Promise<readonly Listed[]> {
  const [target, ...others] = question.targets;
  if (target && others.length === 0) return (await readPage(reader, question, target, first)).records;
  const groups = Array.from({ length: Math.ceil(question.targets.length / schoolsTogether) }, (_, at) =>
    question.targets.slice(at * schoolsTogether, (at + 1) * schoolsTogether));
  const pages = await atOnce(groupsAtOnce, groups, (group) => readEach(reader, question, group, first));
  return pages.flat().flatMap(({ records }) => records);
}
