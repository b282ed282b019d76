// Covers what the log says of requests that fail because the disk of the database is full.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keepLog } from '../../test/log-lines.ts';
import { EnvironmentFault } from '../environment-fault.ts';
import { envelopeShape } from './error-shape.ts';
import { createServer } from './server.ts';

test('of requests on a full disk the log has the first error and a count, and hours later the first error again', async ({ mock }) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const log = keepLog();
  const app = createServer({ logLevel: 'warn', logTo: log, trustProxy: [], shapeFor: () => envelopeShape });
  const full = Object.assign(new Error('could not extend file'), { code: '53100', severity: 'ERROR' });
  app.get('/full', () => Promise.reject(full));
  const ask = async () => assert.equal((await app.inject('/full')).statusCode, 503);
  for (let time = 0; time < 3; time += 1) await ask();
  mock.timers.tick(2 * 3_600_000);
  await ask();
  assert.deepEqual(log.lines().map(({ level, err, failures, msg }) => [level, err !== undefined, failures, msg]), [
    [50, true, undefined, 'a disk is full: nothing can be written until there is room'],
    [40, false, 2, 'requests: no failure in the last 5 minutes'],
    [50, true, undefined, 'a disk is full: nothing can be written until there is room'],
  ]);
  await app.close();
});

test('a folder that is not writable is logged with its own words, and a full one as a full disk', async () => {
  const log = keepLog();
  const app = createServer({ logLevel: 'warn', logTo: log, trustProxy: [], shapeFor: () => envelopeShape });
  const codes = ['EACCES', 'EROFS', 'ENOSPC', 'EDQUOT'];
  for (const code of codes) app.get(`/${code}`, () => Promise.reject(new EnvironmentFault(`the folder of ${code}`, { code })));
  for (const code of codes) assert.equal((await app.inject(`/${code}`)).statusCode, 503);
  assert.deepEqual(log.lines().map(({ msg }) => msg.includes('a disk is full')), [false, false, true, true]);
  assert.deepEqual(log.lines().slice(0, 2).map(({ msg }) => msg), ['the folder of EACCES', 'the folder of EROFS']);
  await app.close();
});
