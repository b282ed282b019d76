// A database that answers the sessions that it has, but opens no further one in time, is slow; one that answers nobody is away.
import assert from 'node:assert/strict';
import { connect as dial, createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { useDatabase } from '../../test/database.ts';
import { connect } from './connect.ts';
import { DatabaseUnavailable, isServerGone, isSlow } from './unavailable.ts';

const { url } = await useDatabase();

/** Forwards the first connection, and leaves the others without an answer. */
async function openNarrowDoor(): Promise<string> {
  const { hostname, port } = new URL(url);
  let passed = 0;
  const door = createServer((near) => {
    near.on('error', () => {});
    if ((passed += 1) > 1) return;
    const far = dial(Number(port), hostname);
    near.pipe(far).pipe(near);
    far.on('error', () => near.destroy());
    near.on('close', () => far.destroy());
  });
  after(() => door.close());
  await once(door.listen(0, '127.0.0.1'), 'listening');
  const through = new URL(url);
  through.host = `127.0.0.1:${(door.address() as AddressInfo).port}`;
  return through.href;
}

async function refusalOf(answersOthers: boolean): Promise<unknown> {
  const db = connect(await openNarrowDoor(), { name: 'test', max: 3, connectionMs: 300, awayMs: 300 });
  after(() => db.end({ timeout: 1 }));
  let held = await db.reserve();
  const refused = db.reserve().then(() => assert.fail('a connection was opened'), (error: unknown) => error);
  if (answersOthers) {
    await held`select 1`;
    held.release();
    held = await db.reserve();
  }
  const error = await refused;
  held.release();
  return error;
}

test('slow: while it opens no connection in time, another session is answered', async () => {
  const error = await refusalOf(true);
  assert.ok(error instanceof DatabaseUnavailable && isSlow(error) && !isServerGone(error), String(error));
  assert.match(error.message, /did not open a connection of the pool test in 0\.3 s, but answered others/);
});

test('away: nobody is answered meanwhile', async () => {
  const error = await refusalOf(false);
  assert.ok(error instanceof DatabaseUnavailable && isServerGone(error) && !isSlow(error), String(error));
});
