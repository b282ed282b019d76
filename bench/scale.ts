// In charge of the figures of a thousand schools in one database: pages and an import against those of a school that is alone, and how
// long the chores of an hour take.
import { join } from 'node:path';
import { addApplication } from '../src/access/applications.ts';
import { authorise } from '../src/access/authorisations.ts';
import { addEstablishment } from '../src/access/establishments.ts';
import { createPseudonym } from '../src/access/pseudonym.ts';
import { createSeal } from '../src/access/seal.ts';
import { createForgetPeople, forgetFiles, forgetInOnePlace } from '../src/forget.ts';
import { tellingOf, tellTroubles } from '../src/onboarding/tell-troubles.ts';
import { visitSchools } from '../src/visit-schools.ts';
import { warnFailingLanes } from '../src/outbox/lane-end.ts';
import { readConfig } from '../src/config.ts';
import { benchSecretKey, ratio, type Bench } from './bench.ts';
import { copySchool } from './copy-school.ts';
import { changeRows, writeDelta, writeLargeSchool } from './large-school.ts';
import { middle, openConnection, p99 } from './one-connection.ts';
import { importPackage, list, untilListFile } from './roster.ts';
import { findWritten } from './size.ts';

const size = { enrollments: 15_000, users: 1_000, classes: 100 };
const original = 'scale';
/** Schools whose pages are asked for. */
const asked = 100;
const pagesAsked = 5_000;
const imports = 5;
const changedAtNight = 50;

export async function benchScale(bench: Bench, schools: number): Promise<void> {
  const { db } = bench;
  const folder = join(bench.folder, 'package');
  await writeLargeSchool(folder, size);
  const scopes = 'School,Student,Staff,Contact';
  await addApplication(db, createSeal([benchSecretKey]), { rp: original, name: original, callbackUrl: 'http://127.0.0.1:9/', scopes, redirectUris: [] });
  const importSeconds = async (estab: string) => {
    await addEstablishment(db, { estab, name: estab, email: 'office@school.example' });
    const started = performance.now();
    await importPackage(bench, estab, folder);
    return (performance.now() - started) / 1000;
  };
  const importMany = async (name: string) => {
    const taken: number[] = [];
    for (let at = 0; at < imports; at += 1) taken.push(await importSeconds(`${name}-${at}`));
    return middle(taken.toSorted((a, b) => a - b));
  };
  const pages = async (estabs: readonly string[]) => {
    const tokens: string[] = [];
    for (const estab of estabs) tokens.push(await openSchool(bench, estab));
    const connection = openConnection();
    const path = `${list}?limit=100&offset=__below:${size.enrollments - 100}__`;
    await connection.ask({ url: bench.url, tokens }, path, 1_000);
    const taken = await connection.ask({ url: bench.url, tokens }, path, pagesAsked);
    connection.close();
    return taken;
  };

  await importSeconds(original);
  // With a little history, most of which is over age.
  const delta = join(bench.folder, 'delta');
  await writeDelta(delta, 100);
  await importPackage(bench, original, delta);
  await db`update roster_version set instant = instant - interval '2 years' where estab = ${original} and version = 1`;
  const aloneSeconds = await importMany('alone');
  const alone = await pages([original]);

  const started = performance.now();
  await copySchool(db, original, schools - 1);
  await db`checkpoint`;
  const [built] = await db<{ rows: number; bytes: number }[]>`
    select count(*)::int as rows, pg_database_size(current_database())::float8 as bytes from roster_enrollment`;
  const made = `${built?.rows} enrolments, ${((built?.bytes ?? 0) / 1024 ** 3).toFixed(1)} GB`;
  bench.add(`${schools} schools made`, `${Math.round((performance.now() - started) / 1000)} s (${made})`);

  const step = Math.max(1, Math.floor((schools - 1) / asked));
  const among = await pages(Array.from({ length: Math.min(asked, schools - 1) }, (_, at) => `${original}-${1 + at * step}`));
  const share = p99(among) / p99(alone);
  const times = `${p99(among).toFixed(1)} of ${p99(alone).toFixed(1)} ms, middle ${middle(among).toFixed(1)} of ${middle(alone).toFixed(1)}`;
  bench.judge(`${schools} schools: p99 of a page, time of a school alone`, share, `${ratio(share)} (${times})`, { bar: 1.5, goal: 1.1, atMost: true });

  const amongSeconds = await importMany('among');
  const importShare = amongSeconds / aloneSeconds;
  const measured = `${ratio(importShare)} (${amongSeconds.toFixed(1)} of ${aloneSeconds.toFixed(1)} s)`;
  bench.judge(`${schools} schools: import of one, time in an empty database`, importShare, measured, { bar: 1.3, goal: 1.1, atMost: true });
  await benchNight(bench, folder);
  await benchChores(bench, schools);
}

/** A package that is as it was, and one in which a few rows changed, among all schools. */
async function benchNight(bench: Bench, folder: string): Promise<void> {
  const run = async () => {
    const [started, written] = [performance.now(), await findWritten(bench)];
    await importPackage(bench, 'among-0', folder);
    return { seconds: (performance.now() - started) / 1000, bytes: (await findWritten(bench)) - written };
  };
  const same = await run();
  await changeRows(folder, changedAtNight);
  const changed = await run();
  const told = ({ seconds, bytes }: typeof same) => `${seconds.toFixed(2)} s, ${(bytes / 1024).toFixed(0)} kB of WAL`;
  bench.add('import of a school at night: as it was', told(same));
  bench.add(`import of a school at night: ${changedAtNight} of ${size.enrollments} enrolments changed`, told(changed));
}

/** A token of the school, whose list has its file. */
async function openSchool(bench: Bench, estab: string): Promise<string> {
  const { schoolSecret } = await authorise(bench.db, { rp: original, estab });
  const authorization = `Basic ${Buffer.from(`${original}|${estab}:${schoolSecret}`).toString('base64')}`;
  const response = await fetch(`${bench.url}/ims/oneroster/v1p1/auth/token`, { method: 'POST', headers: { authorization } });
  const { access_token: token } = (await response.json()) as { access_token: string };
  await untilListFile(bench, estab, `${list}?limit=100`, { url: bench.url, token });
  return token;
}

/** Twice: the first time every school has its turn, and what was left over for long goes; an hour later those of that hour. */
async function benchChores({ db, folder, add, judge }: Bench, schools: number): Promise<void> {
  const config = readConfig({ DATA_DIR: folder, SECRET_KEY: benchSecretKey, DATABASE_URL: 'postgres://localhost/none' });
  const forgetPeople = createForgetPeople(createPseudonym(config.secretKeys));
  const hourly = (at: Date): Readonly<Record<string, () => Promise<unknown>>> => ({
    warning: () => warnFailingLanes(db),
    forgetting: () => forgetInOnePlace(db, config),
    'forgetting files': () => forgetFiles(db, config),
    purging: () => visitSchools(db, config, forgetPeople, at),
  });
  const first = await timeEach(hourly(new Date()));
  add(`${schools} schools: chores of an hour, the first time`, describe(first));
  const again = await timeEach(hourly(new Date(Date.now() + 3_600_000)));
  judge(`${schools} schools: chores of an hour, seconds`, sum(again), `${sum(again).toFixed(1)} (${describe(again)})`, { bar: 10, goal: 2, atMost: true });
  const others = await timeEach({ 'telling of troubles': () => tellTroubles(db, tellingOf(config)) });
  add(`${schools} schools: chores of a minute`, describe(others));
}

type Times = readonly (readonly [name: string, seconds: number])[];

async function timeEach(chores: Readonly<Record<string, () => Promise<unknown>>>): Promise<Times> {
  const taken: [string, number][] = [];
  for (const [name, run] of Object.entries(chores)) {
    const started = performance.now();
    await run();
    taken.push([name, (performance.now() - started) / 1000]);
  }
  return taken;
}

const sum = (times: Times) => times.reduce((all, [, seconds]) => all + seconds, 0);
const describe = (times: Times) => times.map(([name, seconds]) => `${name} ${seconds.toFixed(1)} s`).join(', ');
