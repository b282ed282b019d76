// Runs the script of the CI job as it is, in a process of its own, against a real service with a worker and the demo.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';
import { testSecretKey, useService } from './service.ts';
import { readConfig } from '../src/config.ts';
import { prepareDemo } from '../src/demo.ts';

const root = join(import.meta.dirname, '..');
const service = await useService({ DEMO: 'on', OUTBOUND_ALLOW: '127.0.0.0/8' });
const settings = { DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir, DEMO: 'on' };
await prepareDemo(service.db, service.seal, readConfig(settings));
await service.work();

test('the rehearsal of the CI job goes through, and leaves nothing in force', async () => {
  const env = { ...settings, PATH: process.env.PATH, SCHOOLBELL: `${process.execPath} ${join(root, 'src/cli.ts')}`, SCHOOLBELL_URL: service.url };
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, 'samples/ci/rehearse.mjs')], { env, timeout: 240_000 });
  assert.match(stdout, /the summer: \d+ left/);
  assert.match(stdout, /all went well\n$/);
  assert.deepEqual([...(await service.db`select from sandbox_fault`)], []);
});

test('a service that the script has started is ended, also when the rehearsal fails', async () => {
  const ended = join(service.dataDir, 'ended');
  const standIn = join(service.dataDir, 'stand-in.mjs');
  writeFileSync(standIn, `import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
if (process.argv[2] !== 'start') process.exit(1);
createServer((_, answer) => answer.end()).listen(Number(process.env.PORT), '127.0.0.1');
process.on('SIGTERM', () => { writeFileSync(${JSON.stringify(ended)}, ''); process.exit(0); });`);
  const env = { PATH: process.env.PATH, PORT: String(await freePort()), SCHOOLBELL: `${process.execPath} ${standIn}` };
  await assert.rejects(promisify(execFile)(process.execPath, [join(root, 'samples/ci/rehearse.mjs')], { env, timeout: 60_000 }), /sandbox application/);
  assert.ok(existsSync(ended));
});

test('the job runs that script', () => {
  const job = readFileSync(join(root, 'samples/ci/rehearse.yml'), 'utf8');
  assert.match(job, /node samples\/ci\/rehearse\.mjs/);
});
