// Covers files that a command is told to write or to read: each fault names the file, what is wrong and the remedy, and prints no stack.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { assertFailed, useCommands } from '../../test/commands.ts';
import { testSecretKey, useService } from '../../test/service.ts';
import { smallSchool } from '../../test/small-school.ts';
import { csvPackage } from '../../test/csv-package.ts';
import { placeFiles } from '../backup/kept-files.ts';
import { packEntries } from '../backup/tar.ts';

const folder = mkdtempSync(join(realpathSync(tmpdir()), 'schoolbell-files-'));
const service = await useService();
const { run } = useCommands({
  DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: join(folder, 'data'), BACKUP_PASSPHRASE: 'correct horse battery',
});
await service.addSchool('S1');
await service.load('S1', csvPackage(smallSchool));

const file = join(folder, 'file');
const directory = join(folder, 'directory');
writeFileSync(file, 'correct horse battery\n');
mkdirSync(directory);
mkdirSync(join(folder, 'data'));
const paths = { missing: join(folder, 'none', 'x'), below: join(file, 'x'), directory, long: join(folder, 'x'.repeat(300)) };
type Kind = keyof typeof paths;

const output: Record<Kind, RegExp> = {
  missing: /its folder does not exist\. Create the folder/,
  below: /one of its folders is a file\. Name another path/,
  directory: /it is a directory\. Name a file/,
  long: /the name is too long\. Name a shorter one/,
};
const input: Record<Kind, RegExp> = { ...output, missing: /there is no such file\. Check the name/ };
const source = ['school', 'source', '--estab', 'S1', '--connector', 'oneroster', '--url', 'https://mis.example', '--client-id', 'x', '--test'];

const cases: [line: string[], faults: Partial<Record<Kind, RegExp>>][] = [
  [['export', '--estab', 'S1'], output],
  [['backup'], { ...output, directory: /is there already; .* give another name/ }],
  [['backup', '--to'], { below: /not a directory, or lies below a file\. Name a directory/ }],
  [['backup', 'x.backup', '--passphrase-file'], input],
  [['restore'], input],
  [['restore', '--check'], input],
  [['import', '--estab', 'S1'], { long: input.long }],
  [[...source, '--client-secret-file'], input],
];
for (const [line, faults] of cases) {
  for (const [kind, words] of Object.entries(faults) as [Kind, RegExp][]) {
    test(`${line.join(' ')}: ${kind}`, async () => {
      const before = readdirSync(folder);
      // An option for the folder of backups needs the others of the plan.
      const more = line.includes('--to') ? ['--every', '1d', '--keep', '2', '--passphrase-file', file] : [];
      const failed = await run([...line, paths[kind], ...more]);
      assertFailed(failed, words);
      assert.ok(failed.err.includes(paths[kind]), failed.err);
      assert.doesNotMatch(failed.err, /E[A-Z]{4,}/, 'no code of the system');
      assert.deepEqual(readdirSync(folder), before);
    });
  }
}

test('a key file, and the files of a restored backup, are named with the fault', async () => {
  const backup = join(folder, 'good.backup');
  assert.equal((await run(['backup', backup])).code, 0);
  for (const kind of ['missing', 'below', 'long'] as const) {
    const failed = await run(['restore', backup, '--secret-key-to', paths[kind]]);
    assertFailed(failed, output[kind]);
    assert.ok(failed.err.startsWith(`schoolbell: --secret-key-to ${paths[kind]}: `), failed.err);
  }
  await assert.rejects(placeFiles(file, [{ name: 'demo.json', bytes: Buffer.from('{}') }]), /^EnvironmentFault: DATA_DIR .*file: it is not a directory/);
});

test('a file in DATA_DIR that is too large for a backup is named with the remedy', async () => {
  async function* entries() {
    yield { name: 'writeback/S1/x.csv', bytes: Buffer.alloc(256 * 1024 ** 2 + 1) };
  }
  const packed = buffer(Readable.from(packEntries(entries(), new Date(0))));
  await assert.rejects(packed, /^EnvironmentFault: writeback\/S1\/x\.csv in DATA_DIR .*does not fit into a backup\. Move it/);
});

const small = join(folder, 'small');
mkdirSync(small);
const mounted = process.getuid?.() === 0 && spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', small]).status === 0;
after(() => {
  if (mounted) spawnSync('umount', ['-l', small]);
  rmSync(folder, { recursive: true, force: true });
});

test('export and backup onto a full disk name the file and the remedy, and leave nothing', { skip: mounted ? false : 'needs the right to mount' }, async () => {
  const { bavail, bsize } = statfsSync(small);
  writeFileSync(join(small, 'filler'), Buffer.alloc(bavail * bsize));
  for (const line of [['export', '--estab', 'S1'], ['backup']]) {
    const path = join(small, 'x');
    const failed = await run([...line, path]);
    assertFailed(failed, /x: the disk is full\. Free some space or name a file on another disk/);
    assert.ok(failed.err.startsWith(`schoolbell: ${path}: `), failed.err);
    assert.deepEqual(readdirSync(small), ['filler']);
  }
});
