// Covers what has to be there before a database is spread: a Citus that was tried, its coordinator, and a node for schools.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireCitus, requireNodes } from './distribute.ts';
import type { DataNode } from './distribution.ts';

const versions: [citus: string | undefined, refused: RegExp | undefined][] = [
  [undefined, /^the database has no Citus.*Nothing was changed$/],
  ['12.1-1', /^Citus 12\.1-1 is too old: distribute needs 13 or newer\. Nothing was changed$/],
  ['9.5-1', /^Citus 9\.5-1 is too old/],
  ['13.2-1', undefined],
  ['14.0-1', undefined],
];
for (const [citus, refused] of versions)
  test(`Citus ${citus ?? 'that is not there'} is ${refused ? 'refused' : 'taken'}`, () => judge(() => requireCitus(citus), refused));

const node = (group: number, more: Partial<DataNode> = {}): DataNode => {
  return { name: 'n', port: 5432, address: 'n:5432', group, active: true, holdsSchools: group !== 0, ...more };
};
const noCoordinator = /^the coordinator is not among the nodes that Citus knows: .*citus_set_coordinator_host.*Nothing was changed$/;
const noNode = /^there is no node for schools beside the coordinator: .*citus_add_node.*Nothing was changed$/;
const clusters: [what: string, nodes: readonly DataNode[], refused: RegExp | undefined][] = [
  ['no nodes', [], noCoordinator],
  ['nodes without their coordinator', [node(1), node(2)], noCoordinator],
  ['a coordinator alone', [node(0)], noNode],
  ['a coordinator that holds schools, alone', [node(0, { holdsSchools: true })], noNode],
  ['a node that is not active', [node(0), node(1, { active: false })], noNode],
  ['a node that is not to hold schools', [node(0), node(1, { holdsSchools: false })], noNode],
  ['one node for schools', [node(0), node(1)], undefined],
  ['one of two for schools', [node(0), node(1, { active: false }), node(2)], undefined],
];
for (const [what, nodes, refused] of clusters) test(`${what}: ${refused ? 'refused' : 'enough'}`, () => judge(() => requireNodes(nodes), refused));

function judge(work: () => void, refused: RegExp | undefined): void {
  if (refused) assert.throws(work, { code: 'conflict', message: refused });
  else work();
}
