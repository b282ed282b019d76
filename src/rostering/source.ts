// In charge of where the records of a question come from: lists in their own order school by school, out of files where there are any;
// whatever else is filtered, sorted or nested, out of one statement over all schools.
import type { ListPiece, ListSource, OpenList } from '../roster/list-source.ts';
import { bySchool, type Reading } from './by-school.ts';
import { countable, plainness, versionsAsked, type Plain, type Question } from './question.ts';
import { bySchools, joinPage, type Listed } from './render.ts';
import { countMatches, openRun, readPage, requireReadable, type Paging } from './statements.ts';

/** countedAs: names the question, at the versions that it is asked of. */
export async function findSource(reading: Reading, question: Question, countedAs: string): Promise<ListSource> {
  const plain = plainness(question) ?? (await findVersionsAsked(reading, question));
  return plain ? bySchool(reading, question, plain) : byStatement(reading, question, countedAs);
}

async function findVersionsAsked({ facts, primary }: Reading, question: Question): Promise<Plain | undefined> {
  const [target, ...others] = question.targets;
  return target && question.filter && others.length === 0 ? versionsAsked(question, await facts.versions(primary, target)) : undefined;
}

function byStatement(reading: Reading, question: Question, countedAs: string): ListSource {
  const plain = countable(question);
  const knownTotal = async () => (plain ? (await reading.findParts(question, plain)).total : undefined);

  return {
    async total() {
      await requireReadable(reading, question);
      return (await knownTotal()) ?? countMatches(reading, question, countedAs);
    },
    async page(paging, margins) {
      const known = await knownTotal();
      const { records, total = 0 } = await readPage(reading, question, paging, known === undefined ? countedAs : undefined);
      return { ...joinPage(records, margins), total: known ?? total };
    },
    async open(paging: Paging): Promise<OpenList> {
      const run = await openRun(reading, question, paging);
      try {
        const total = (await knownTotal()) ?? (await countMatches(reading, question, countedAs, run.sql));
        return { total, length: undefined, pieces: toPieces(run.batches), close: run.close };
      } catch (error) {
        await run.close();
        throw error;
      }
    },
  };
}

async function* toPieces(batches: AsyncIterable<readonly Listed[]>): AsyncGenerator<ListPiece> {
  for await (const batch of batches) {
    for (const records of bySchools(batch)) {
      yield { bytes: Buffer.from(records.map(({ json }) => json).join(',')), count: records.length, estab: records[0]?.estab ?? '' };
    }
  }
}
