// In charge of the figure of a spread database: pages of schools on two nodes against those of as many on one, asked of one service. It needs
// TEST_CITUS_URL; where nodes, service and whoever asks share a machine, only nodes that may use little of it are what holds the pages up.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { addApplication } from '../src/access/applications.ts';
import { authorise } from '../src/access/authorisations.ts';
import { addEstablishment } from '../src/access/establishments.ts';
import { createSeal } from '../src/access/seal.ts';
import { connect, type Db } from '../src/db/connect.ts';
import { planDistribution, runDistribution } from '../src/db/distribute.ts';
import { migrate } from '../src/db/migrate.ts';
import { citusUrl, dropOnEach, makeOnEach, openNodes, urlOf } from '../test/spread-database.ts';
import { benchSecretKey, ratio } from './bench.ts';
import { writeLargeSchool } from './large-school.ts';
import { importPackage } from './roster.ts';
import { startService } from './service.ts';

const schoolsOfNode = 4;
const shards = 16;
const rounds = 3;
const seconds = 8;
const connections = 16;
/** Filtered and sorted: nothing of it is in a list file. */
const path = `/ims/oneroster/v1p1/users?limit=100&filter=familyName~'a'&sort=givenName&orderBy=desc`;

export async function benchNodes(): Promise<void> {
  if (citusUrl === undefined) throw new Error('TEST_CITUS_URL must name the coordinator of a cluster of two nodes');
  const { nodes, coordinator, close } = await openNodes(citusUrl);
  if (nodes.length < 3) {
    await close();
    throw new Error('TEST_CITUS_URL must name the coordinator of a cluster of two nodes, beside it');
  }
  const [name, folder] = [`bench_${randomBytes(4).toString('hex')}`, mkdtempSync(join(tmpdir(), 'schoolbell-nodes-'))];
  await makeOnEach(nodes, name);
  const databaseUrl = urlOf(coordinator, name);
  const db = connect(databaseUrl, { max: 4, name: 'bench' });
  try {
    await migrate(db);
    const connection = await db.reserve();
    await runDistribution(connection, await planDistribution(connection, 'out'), shards).finally(() => connection.release());
    const [here = [], there = []] = await chooseSchools(db);
    const secrets = await fillSchools(db, folder, [...here, ...there]);
    const service = await startService({ DATABASE_URL: databaseUrl, SECRET_KEY: benchSecretKey, DATA_DIR: folder, ROLE: 'api', DEMO: 'off' });
    try {
      const tokens = new Map<string, string>();
      for (const [estab, secret] of secrets) tokens.set(estab, await requestToken(service.url, estab, secret));
      const rateOf = (estabs: readonly string[]) => measure(service.url, estabs.map((estab) => tokens.get(estab) ?? ''));
      const half = schoolsOfNode / 2;
      const onBoth = [...here.slice(0, half), ...there.slice(0, half)];
      await rateOf([...here, ...there]);
      const ratios: number[] = [];
      for (let round = 1; round <= rounds; round += 1) {
        const [one, two, other] = [await rateOf(here), await rateOf(onBoth), await rateOf(there)];
        ratios.push(two / ((one + other) / 2));
        console.log(`  one node ${one.toFixed(1)} and ${other.toFixed(1)} pages a second, two nodes ${two.toFixed(1)}: ${ratio(ratios.at(-1) ?? 0)}`);
      }
      console.log(`pages of schools on two nodes against one: ${ratio(ratios.toSorted((a, b) => a - b)[1] ?? 0)}`);
    } finally {
      await service.stop();
    }
  } finally {
    await db.end({ timeout: 5 });
    await dropOnEach(nodes, name);
    await close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As many on each of the nodes behind the coordinator. */
async function chooseSchools(db: Db): Promise<string[][]> {
  const chosen = new Map<number, string[]>();
  for (let number = 0; [...chosen.values()].filter((estabs) => estabs.length === schoolsOfNode).length < 2; number += 1) {
    const estab = `school${number}`;
    const [row] = await db<{ group: number }[]>`
      select groupid as group from pg_dist_placement where shardid = get_shard_id_for_distribution_column('roster', ${estab}::text)`;
    const estabs = chosen.get(row?.group ?? 0) ?? [];
    if (estabs.length < schoolsOfNode) chosen.set(row?.group ?? 0, [...estabs, estab]);
  }
  return [...chosen].filter(([, estabs]) => estabs.length === schoolsOfNode).toSorted(([a], [b]) => a - b).map(([, estabs]) => estabs);
}

async function fillSchools(db: Db, folder: string, estabs: readonly string[]): Promise<Map<string, string>> {
  const scopes = 'School,Student,Staff,Contact';
  await addApplication(db, createSeal([benchSecretKey]), { rp: 'bench', name: 'bench', callbackUrl: 'http://127.0.0.1:9/', scopes, redirectUris: [] });
  await writeLargeSchool(join(folder, 'package'), { enrollments: 20_000, users: 4_000, classes: 200 });
  const secrets = new Map<string, string>();
  for (const estab of estabs) {
    await addEstablishment(db, { estab, name: estab, email: 'office@school.example' });
    secrets.set(estab, (await authorise(db, { rp: 'bench', estab })).schoolSecret);
    await importPackage({ db, folder }, estab, join(folder, 'package'));
  }
  return secrets;
}

async function requestToken(url: string, estab: string, secret: string): Promise<string> {
  const authorization = `Basic ${Buffer.from(`bench|${estab}:${secret}`).toString('base64')}`;
  const response = await fetch(`${url}/ims/oneroster/v1p1/auth/token`, { method: 'POST', headers: { authorization } });
  return ((await response.json()) as { access_token: string }).access_token;
}

async function measure(url: string, tokens: readonly string[]): Promise<number> {
  const requests = tokens.map((token) => ({ path, headers: { authorization: `Bearer ${token}` } }));
  const result = await autocannon({ url, connections, duration: seconds, requests });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} answers other than 2xx, ${result.errors} errors`);
  return result.requests.average;
}
