// Nodes of a spread database are lost under load, ended or silent, and come back: marks of other schools are written while one has ended, nothing
// that was acknowledged is lost, and nobody waits too long or is told anything but to come again. It needs TEST_CITUS_URL, of a cluster as the guide
// has it: what a node had prepared when it was lost keeps its schools waiting until Citus commits it (citus.recover_2pc_interval).
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { cutNodes } from './cut-nodes.ts';
import { drill } from './failover/drill.ts';
import { citusUrl, useSpreadDatabase } from './spread-database.ts';

const times = 8;
const awayMs = 6_000;

suite('on a real cluster', { skip: citusUrl === undefined && 'TEST_CITUS_URL names no cluster' }, () => {
  test('nodes that are lost under load take nothing with them that was acknowledged', { timeout: 900_000 }, async (context) => {
    const { db, url } = await useSpreadDatabase(citusUrl ?? '');
    const nodes = await cutNodes(db);
    after(() => nodes.forEach((node) => node.close()));
    const groupOf = async (estab: string) => Number((await db`
      select groupid as group from pg_dist_placement where shardid = get_shard_id_for_distribution_column('roster', ${estab}::text)`)[0]?.group);
    /** One on each node. */
    const estabs: string[] = [];
    for (let number = 0; estabs.length < nodes.length; number += 1)
      if ((await groupOf(`school${number}`)) === nodes[estabs.length]?.group) estabs.push(`school${number}`);
    const countSince = async (estab: string, from: Date) =>
      (await db`select from writeback where estab = ${estab} and submitted_at > ${from} and status = 'Completed'`).length;

    let lost = 0;
    const cluster = {
      databaseUrl: url,
      async failOver({ ending }: { ending(): void }) {
        const node = nodes[lost % nodes.length];
        const state = Math.floor(lost / nodes.length) % 2 === 0 ? 'ended' : 'silent';
        lost += 1;
        ending();
        await node?.set(state);
        const from = new Date();
        const others = estabs.filter((_, at) => nodes[at] !== node);
        await pause(awayMs);
        for (const estab of others) {
          const written = await countSince(estab, from);
          context.diagnostic(`${state}: ${written} writebacks of a school on another node meanwhile`);
          // While one says nothing, those who wait for it hold connections that others need.
          if (state === 'ended') assert.ok(written > 0, `${estab} goes on while another node has ended`);
        }
        await node?.set('there');
      },
      heal: async () => {},
      close: async () => {},
    };
    const { faults, ...report } = await drill(cluster, { times, estabs, tell: (line) => context.diagnostic(line) });
    context.diagnostic(JSON.stringify(report));
    assert.deepEqual(faults, []);
    assert.equal(report.found, report.acknowledged);
  });
});
