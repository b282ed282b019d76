// Covers the recording of statements: each once, from every process, however it ends and whatever environment it was
// given.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

const home = mkdtempSync(join(tmpdir(), 'schoolbell-recorder-'));
after(() => rmSync(home, { recursive: true, force: true }));

const publish = `const { channel } = require('node:diagnostics_channel'); const say = (text) => channel('schoolbell:statement').publish({ text });`;

/** What is recorded, by process, of a script that ends as it likes. */
async function record(script: string): Promise<string[][]> {
  const folder = mkdtempSync(join(home, 'run-'));
  const env = { PATH: process.env.PATH ?? '', RECORDED_STATEMENTS: folder, NODE_OPTIONS: `--import=${import.meta.resolve('./record-statements.ts')}` };
  await new Promise((resolve) => execFile(process.execPath, ['-e', publish + script], { env }, resolve));
  const files = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line) as string));
  return files.toSorted((one, other) => String(one).localeCompare(String(other)));
}

test('each statement is written down once, whatever is in it', async () => {
  assert.deepEqual(await record(`say('select 1'); say('select\\n"é"'); say('select 1');`), [['select 1', 'select\n"é"']]);
});

test('statements of cursors are the same, whatever their numbers', async () => {
  const statements = (at: number) => [`declare cursor_${at} no scroll cursor for select 'cursor_7'`, `fetch 10 from cursor_${at}`, `close cursor_${at}`];
  const script = [7, 12].flatMap(statements).map((text) => `say(${JSON.stringify(text)});`);
  assert.deepEqual(await record(script.join('')), [statements(1)]);
});

test('a process that asks nothing leaves no file', async () => {
  assert.deepEqual(await record(''), []);
});

test('a process that exits or is killed has said it', async () => {
  assert.deepEqual(await record(`say('select 1'); process.exit(3);`), [['select 1']]);
  assert.deepEqual(await record(`say('select 1'); process.kill(process.pid, 'SIGKILL');`), [['select 1']]);
});

test('processes that it starts are recorded too, with an environment of their own or not', async () => {
  const script = (text: string) => JSON.stringify(`${publish} say('${text}')`);
  const children = `
    const { execFile, spawn } = require('node:child_process');
    say('a');
    execFile(process.execPath, ['-e', ${script('b')}]);
    spawn(process.execPath, ['-e', ${script('c')}], { env: {} });`;
  assert.deepEqual(await record(children), [['a'], ['b'], ['c']]);
});
