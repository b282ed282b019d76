// The command ops/failover-drill, as far as a machine without Patroni can try it: what it says of itself, and what it misses. The load that it runs is
// held to a cluster of our own by failover.test.ts.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ProgramsMissing, requirePrograms } from '../ops/failover/programs.ts';

const home = mkdtempSync(join(tmpdir(), 'schoolbell-programs-'));
after(() => rmSync(home, { recursive: true, force: true }));
const run = (...args: string[]) => spawnSync(join(import.meta.dirname, '../ops/failover-drill'), args, { encoding: 'utf8', timeout: 60_000 });
const posix = { skip: process.platform === 'win32' ? 'starts by a shell' : false };

test('it says how it is used, and refuses what it does not know', posix, () => {
  const { status, stdout } = run('--help');
  assert.equal(status, 0);
  assert.match(stdout, /^Usage: ops\/failover-drill /);
  for (const [args, words] of [
    [['--through', 'pigeons'], /--through: "pigeons" is not one of haproxy, hosts/],
    [['--times', '0'], /--times: "0" is not a whole number/],
    [['--colour'], /--colour/],
  ] as const) {
    const refused = run(...args);
    assert.deepEqual([refused.status, refused.stdout], [1, '']);
    assert.match(refused.stderr, words);
    assert.doesNotMatch(refused.stderr, /\n\s+at /);
  }
});

test('what is missing is named with the line that installs it', () => {
  const make = (...path: string[]) => {
    mkdirSync(join(home, ...path.slice(0, -1)), { recursive: true });
    writeFileSync(join(home, ...path), '');
    chmodSync(join(home, ...path), 0o755);
  };
  const find = () => requirePrograms([join(home, 'bin')], join(home, 'postgresql'));
  const missing = (words: RegExp) => assert.throws(find, (error) => error instanceof ProgramsMissing && words.test(error.message));
  missing(/patroni, etcd, haproxy, PostgreSQL 15 or newer[^]*apt-get install \S+ patroni python3-etcd etcd-server haproxy postgresql\n/);
  for (const name of ['patroni', 'etcd', 'haproxy']) make('bin', name);
  make('postgresql', '9.6', 'bin', 'postgres');
  missing(/does not have PostgreSQL 15 or newer\.[^]*apt-get install \S+ postgresql\n/);
  for (const version of ['15', '17']) make('postgresql', version, 'bin', 'postgres');
  assert.equal(find().postgres, join(home, 'postgresql/17/bin'));
});
