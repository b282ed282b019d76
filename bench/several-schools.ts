// In charge of the figure of pages under a token of 300 schools: against as many bytes sent constant by the same server.
import { join } from 'node:path';
import { addApplication } from '../src/access/applications.ts';
import { authorise } from '../src/access/authorisations.ts';
import { addEstablishment } from '../src/access/establishments.ts';
import { createSeal } from '../src/access/seal.ts';
import { benchSecretKey, get, load, ratio, type Bench, type Door } from './bench.ts';
import { copySchool } from './copy-school.ts';
import { writeLargeSchool } from './large-school.ts';
import { importPackage } from './roster.ts';

const schools = 300;
const enrollments = 1_000;
const root = '/api/ims/oneroster/v1p1';

export async function benchSeveralSchools(bench: Bench): Promise<void> {
  const { client } = await addSchools(bench, 'many', { schools, enrollments, users: 60, classes: 20 });
  const door = { url: bench.url, token: await requestToken(bench, client) };
  const list = `${root}/enrollments`;
  const first = await get(door, `${list}?limit=100`);
  bench.sendConstant(Buffer.from(await first.arrayBuffer()));
  const total = Number(first.headers.get('x-total-count'));
  if (total !== schools * enrollments) throw new Error(`there are ${total} enrolments`);
  // Each school has its file when pages of it were asked for twice; some lie across two schools.
  for (let turn = 0; turn < 2; turn += 1)
    for (let offset = 0; offset < total; offset += enrollments) await (await get(door, `${list}?limit=100&offset=${offset}`)).arrayBuffer();
  const path = `${list}?limit=100&offset=__below:${total - 100}__`;
  await load(door, path, 2);
  const constant = await load(door, '/bench/constant');
  const pages = await load(door, path);
  const share = pages / constant;
  const rates = `${Math.round(pages)} of ${Math.round(constant)} a second`;
  const name = `page of 100 at a random offset, under a token of ${schools} schools: share of constant bytes`;
  bench.judge(name, share, `${ratio(share)} (${rates})`, { bar: 0.4, goal: 0.6 });
}

/** One is imported, the others are its copies; gives the client that all of them authorise. */
export async function addSchools(
  bench: Bench,
  name: string,
  { schools: count, ...size }: { schools: number; enrollments: number; users: number; classes: number },
): Promise<{ client: string; folder: string }> {
  const { db } = bench;
  await addEstablishment(db, { estab: name, name, email: 'office@school.example' });
  const scopes = 'School,Student,Staff,Contact';
  const added = await addApplication(db, createSeal([benchSecretKey]), { rp: name, name, callbackUrl: 'http://127.0.0.1:9/', scopes, redirectUris: [] });
  await authorise(db, { rp: name, estab: name });
  const folder = join(bench.folder, name);
  await writeLargeSchool(folder, size);
  await importPackage(bench, name, folder);
  await copySchool(db, name, count - 1);
  return { client: `${added.clientId}:${added.clientSecret}`, folder };
}

export async function requestToken({ url }: Pick<Door, 'url'>, client: string): Promise<string> {
  const authorization = `Basic ${Buffer.from(client).toString('base64')}`;
  const response = await fetch(`${url}${root}/token`, { method: 'POST', headers: { authorization } });
  return ((await response.json()) as { access_token: string }).access_token;
}
