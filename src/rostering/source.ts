// In charge of where the records of a question come from. Of one school: what is plain out of its file, where there is one, and whatever else is
// filtered, sorted or nested out of one statement. Of several: school by school, what is plain out of their files and the rest counted in each
// first; or, sorted, by putting their records together.
import type { ListSource, OpenList } from '../roster/list-source.ts';
import { bySchool, type Reading } from './by-school.ts';
import { countParts } from './parts.ts';
import { countable, plainness, versionsAsked, type Plain, type Question } from './question.ts';
import { joinPage, toPieces } from './render.ts';
import { sortedSchools } from './sorted-schools.ts';
import { countMatches, openRun, readPage, requireParents, type Paging } from './statements.ts';
import type { Target } from './visibility.ts';

export async function findSource(reading: Reading, question: Question): Promise<ListSource> {
  const [target, ...others] = question.targets;
  const plain = plainness(question) ?? (await findVersionsAsked(reading, question));
  if (plain) return bySchool(reading, question, () => reading.findParts(question, plain), reading.files);
  const counted = countable(question);
  const findCounted = async () => (counted ? reading.findParts(question, counted) : undefined);
  const findTotal = async () => (await findCounted())?.total;
  if (target && others.length === 0) return byStatement(reading, question, target, findTotal);
  if (!question.sort) return bySchool(reading, question, () => countParts(reading, question), undefined);
  return sortedSchools(reading, question, async () => (await findCounted()) ?? countParts(reading, question));
}

async function findVersionsAsked({ facts, primary }: Reading, question: Question): Promise<Plain | undefined> {
  const [target, ...others] = question.targets;
  return target && question.filter && others.length === 0 ? versionsAsked(question, await facts.versions(primary, target)) : undefined;
}

function byStatement(reading: Reading, question: Question, target: Target, findTotal: () => Promise<number | undefined>): ListSource {
  async function count(): Promise<number> {
    const counted = await countMatches(reading, question, target);
    requireParents([counted]);
    return counted.count;
  }

  return {
    total: async () => (await findTotal()) ?? count(),
    async page(paging, margins) {
      const known = await findTotal();
      const page = await readPage(reading, question, target, paging, known === undefined);
      requireParents([page]);
      return { ...joinPage(page.records, margins), total: known ?? page.total ?? 0 };
    },
    async open(paging: Paging): Promise<OpenList> {
      const run = await openRun(reading, question, target, paging);
      try {
        requireParents([run]);
        const total = (await findTotal()) ?? (await count());
        return { total, length: undefined, pieces: toPieces(run.batches), close: run.close };
      } catch (error) {
        await run.close();
        throw error;
      }
    },
  };
}
