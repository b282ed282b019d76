// Tests what a long import says while it is under way: every step, on standard error alone, rewritten on a terminal and
// as plain lines elsewhere.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../test/until.ts';
import { testSecretKey, useService } from '../../test/service.ts';
import { runCommandLine } from '../command-line.ts';
import { openCsvSource } from '../collection/connectors/csv/csv-source.ts';
import { openPackage } from '../collection/connectors/csv/package.ts';
import { importRoster } from '../collection/import.ts';
import type { ImportProgress } from '../collection/import-progress.ts';
import { startProgressLine } from './progress-line.ts';

const { db, databaseUrl, dataDir, addSchool } = await useService();
const sample = join(import.meta.dirname, '../../samples/hill-top-school');

test('an import tells of every step, with its records', async () => {
  await addSchool('8001');
  const told: ImportProgress[] = [];
  const report = await importRoster(db, async () => openCsvSource(await openPackage(sample)), {
    estab: '8001', dataDir, partial: false, force: false, shrinkLimitPercent: 20, onProgress: (progress) => told.push(progress),
  });
  assert.deepEqual([...new Set(told.map(({ step }) => step))], ['reading', 'waiting', 'copying', 'checking', 'comparing', 'merging', 'finishing']);
  for (const step of ['reading', 'copying', 'merging'] as const) {
    const counted = told.filter((one) => one.step === step).map(({ records }) => records);
    assert.deepEqual(counted, counted.toSorted((a, b) => a - b), step);
    assert.ok(counted.length > 2, `${step} counts as it goes`);
    assert.equal(counted.at(-1), report.added, step);
  }
  const shares = told.flatMap(({ share }) => share ?? []);
  assert.ok(shares.every((share) => share > 0 && share <= 1) && shares.length > 0);
});

const env = { PATH: process.env.PATH, DATABASE_URL: databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: dataDir };

test('in a log: plain lines on standard error while it lasts, and one JSON document on standard output', async () => {
  await addSchool('8002');
  const { added } = await follow('8002', ['import', sample]);
  assert.equal(added, 399);
});

test('so does a collection', async () => {
  await addSchool('8003');
  const { code, stderr } = await runCommandLine(['school', 'edit', '--estab', '8003', '--connector', 'csv', '--folder', sample], env);
  assert.deepEqual([code, stderr], [0, '']);
  const { databases } = await follow('8003', ['collect']);
  assert.equal((databases as { status: string }[])[0]?.status, 'OK');
});

/** What a command gives that another import of the school holds up until it has told how far it is. */
async function follow(estab: string, [command = '', ...more]: readonly string[]): Promise<Record<string, unknown>> {
  const connection = await db.reserve();
  try {
    await connection`begin`;
    await connection`select from roster where estab = ${estab} for update`;
    const args = [join(import.meta.dirname, '../cli.ts'), command, '--estab', estab, ...more, '--json'];
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = once(child, 'close');
    const [out, err]: [string[], string[]] = [[], []];
    child.stdout.setEncoding('utf8').on('data', (piece: string) => out.push(piece));
    child.stderr.setEncoding('utf8').on('data', (piece: string) => err.push(piece));
    await until('it says that it waits', () => err.join('').includes('waiting'));
    await connection`rollback`;
    assert.deepEqual(await ended, [0, null], err.join(''));
    for (const line of err.join('').trimEnd().split('\n'))
      assert.match(line, /^schoolbell: (?:import|collect): [a-z ]+, [\d,]+( of [\d,]+)? records(, \d+ %)?, \d+ s$/);
    return JSON.parse(out.join('')) as Record<string, unknown>;
  } finally {
    connection.release();
  }
}

test('on a terminal: one line that is rewritten, goes on by the clock, and is gone at the end', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const written: string[] = [];
  let clock = 0;
  const line = startProgressLine('import', { isTTY: true, write: (text: string) => written.push(text) }, () => clock);
  line.show({ step: 'reading', records: 1_000, share: 0.25 });
  clock = 61_000;
  line.show({ step: 'merging', records: 120_000, of: 300_000 });
  clock = 62_000;
  t.mock.timers.tick(200);
  line.end();
  t.mock.timers.tick(10_000);
  assert.deepEqual(written, [
    '\rimport: reading, 1,000 records, 25 %, 0 s\u001b[K', '\rimport: merging, 120,000 of 300,000 records, 61 s\u001b[K',
    '\rimport: merging, 120,000 of 300,000 records, 62 s\u001b[K', '\r\u001b[K',
  ]);
});

test('in a log, what is over within seconds says nothing', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const written: string[] = [];
  const line = startProgressLine('import', { write: (text: string) => written.push(text) }, () => 0);
  line.show({ step: 'reading', records: 10 });
  t.mock.timers.tick(4_900);
  line.end();
  assert.deepEqual(written, []);
});
