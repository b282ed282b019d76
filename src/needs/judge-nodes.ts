// In charge of judging the nodes that a database is spread over: each is to answer, since the schools on it are away otherwise.
import type { Db } from '../db/connect.ts';
import { findNodes, findSilentNodes } from '../db/node-load.ts';
import { fail, ok, type Judged } from './finding.ts';

export async function judgeNodes(db: Db): Promise<Judged> {
  const nodes = await findNodes(db);
  if (nodes.length === 0) return ok('the database is on one');
  const silent = await findSilentNodes(db, nodes);
  if (silent.length === 0) return ok(`all ${nodes.length} answer`);
  const which = silent.map(({ address }) => address).join(', ');
  return fail(`${which} of ${nodes.length} does not answer, and its schools cannot be read or written`, 'bring it back, or its standby');
}
