// The README, as a newcomer reads it: every command in it, pasted from top to bottom, works against a service that has
// just been started for the first time.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { clone, longest, repository, start, stop } from './processes.ts';
import { freePort } from './service.ts';

type Block = { line: number; language: string; text: string };

const readme = readFileSync(join(repository, 'README.md'), 'utf8');
/** Start and test are what other tests do; here the service runs already. */
const runsElsewhere = /^npm (?:start|test)$/;

function listBlocks(): Block[] {
  return [...readme.matchAll(/^```(\S*)\n([^]*?)^```$/gm)].map(({ 1: language = '', 2: text = '', index }) => ({
    line: readme.slice(0, index).split('\n').length + 1,
    language,
    text,
  }));
}

/** A refusal fails the command, and no command of ours installs anything first: that is tested elsewhere. */
const prelude = `
set -Eeuo pipefail
trap 'echo "failed at $BLOCK: $BASH_COMMAND" >&2' ERR
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
curl() { command curl --fail-with-body --max-time 60 "$@"; }
npm() { [ "$1 $2 $3 $4" = 'run -s schoolbell --' ]; shift 4; node src/cli.ts "$@"; }
`;

test('every block says what it is, and no command holds a place for something else', () => {
  for (const { line, language, text } of listBlocks()) {
    assert.match(language, /^(?:sh|text|json)$/, `README.md:${line}: sh is tried, text and json are not`);
    if (language === 'sh') assert.doesNotMatch(text, /…|\.\.\.|eyJ|sb_[a-z]+_|<[a-z]/i, `README.md:${line}`);
  }
});

test('every command works when pasted, in order', longest, async () => {
  const dataDir = join(clone, 'data');
  const running = await start(dataDir);
  const receiver = String(await freePort());
  const commands = listBlocks().filter(({ language, text }) => language === 'sh' && !runsElsewhere.test(text.trim()));
  assert.ok(commands.length > 8, 'commands were found');
  const script = commands.map(({ line, text }) => `BLOCK=README.md:${line}\n${text}`).join('\n');
  const here = script.replaceAll('http://127.0.0.1:8080', running.url).replaceAll(/(?<=127\.0\.0\.1:|listen\()9000\b/g, receiver);
  const { code, output } = await runShell(prelude + here, { DATA_DIR: dataDir, PORT: new URL(running.url).port });
  assert.equal(code, 0, output.slice(-4_000));
  const claimed = /^x-total-count: \d+$/m.exec(readme)?.[0] ?? assert.fail('the README shows a total');
  assert.match(output, new RegExp(`^${claimed}\r?$`, 'm'), 'the total that the README shows');
  assert.match(output, /added 399, changed 0/, 'the sample was imported');
  assert.equal(readFileSync(join(dataDir, 'code.png')).subarray(1, 4).toString(), 'PNG');
  await stop(running);
});

function runShell(script: string, env: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const path = `${dirname(process.execPath)}:${process.env.PATH}`;
  const shell = spawn('bash', ['-c', script], { cwd: clone, env: { PATH: path, HOME: process.env.HOME, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [shell.stdout, shell.stderr]) stream.setEncoding('utf8').on('data', (piece: string) => (output += piece));
  return new Promise((resolve) => shell.once('close', (code) => resolve({ code, output })));
}
