// Covers a setup of the embedded database's roles that fails: no password is in the error, which the start prints.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { useDataDir } from '../../test/data-dir.ts';
import { EnvironmentFault } from '../environment-fault.ts';
import { findPlace } from './embedded-place.ts';
import { makeCluster } from './embedded-server.ts';

const dataDir = useDataDir();
// PostgreSQL runs as another account if the test runs as root.
chmodSync(dataDir, 0o711);
const passwords = { superuser: 'superuser-'.repeat(4), owner: 'owner-'.repeat(6), serving: 'serving-'.repeat(5) };

/** Makes a cluster with these programs in place of the installed ones, which must fail. */
function findFault(scripts: Record<'initdb' | 'postgres', string>, given = passwords): string {
  const programs = join(dataDir, 'programs');
  mkdirSync(join(programs, 'bin'), { recursive: true, mode: 0o755 });
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(programs, 'bin', name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(programs, 'bin', name), 0o755);
  }
  const place = { ...findPlace(dataDir), programs, cluster: join(dataDir, 'postgres') };
  try {
    makeCluster(place, given, dataDir);
  } catch (error) {
    assert.ok(error instanceof EnvironmentFault, String(error));
    return error.message;
  }
  return assert.fail('the cluster was made');
}

function assertHidden(message: string): void {
  for (const password of Object.values(passwords)) assert.ok(!message.includes(password), message);
}

test('PostgreSQL prints a statement that failed: the passwords in it are hidden', () => {
  const message = findFault({ initdb: 'exit 0', postgres: 'cat >&2; exit 1' });
  assert.match(message, /^DATA_DIR .*: postgres failed: create role schoolbell_owner login password '…'\n/);
  assertHidden(message);
});

test('initdb that prints the password file: the password is hidden', () => {
  const message = findFault({ initdb: 'for one in "$@"; do case "$one" in --pwfile=*) cat "${one#--pwfile=}" >&2;; esac; done; exit 1', postgres: 'exit 0' });
  assert.match(message, /: initdb failed: …$/);
});

test('a real failure of PostgreSQL', () => {
  const { programs } = findPlace(dataDir);
  const real = (name: string) => `exec ${join(programs, 'bin', name)} "$@"`;
  // The first statement makes the superuser's name once more.
  const message = findFault({ initdb: real('initdb'), postgres: `sed 's/schoolbell_owner/postgres/' | ${join(programs, 'bin', 'postgres')} "$@"` });
  assert.match(message, /role "postgres" already exists/);
  assertHidden(message);
});

test('a password file with quotation marks or several lines, of which an error could quote a part, is refused with the remedy', () => {
  for (const strange of ["quoted' --".repeat(4), 'one\ntwo'.repeat(6)]) {
    const message = findFault({ initdb: 'exit 0', postgres: 'cat >&2; exit 1' }, { ...passwords, owner: strange });
    assert.match(message, /^DATA_DIR: postgres\.owner\.password holds other characters .* Remove it/);
    assert.ok(!message.includes(strange.slice(0, 6)), message);
  }
});
