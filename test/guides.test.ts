// The README and the guides, as a newcomer reads them: every command works when it is pasted, page by page and from top to bottom,
// against a service that has just been started for the first time.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { buildClient } from '../client/build.ts';
import { runCommandLine } from '../src/command-line.ts';
import { guideFiles } from '../src/reference/guides.ts';
import { clone, longest, repository, start, stop } from './processes.ts';
import { freePort } from './free-port.ts';

type Block = { line: number; language: string; text: string };

const files = ['README.md', ...Object.values(guideFiles).flat()];
/** Comes last: it makes the demo school another. */
const movesDemo = 'docs/guides/rehearse.md';
/** Starting and testing is what other tests do; here the service runs already. */
const runsElsewhere = /^(?:npx schoolbell start|npm (?:start|test))$/;

function listBlocks(file: string): Block[] {
  const text = readFileSync(join(repository, file), 'utf8');
  return [...text.matchAll(/^```(\S*)\n([^]*?)^```$/gm)].map(({ 1: language = '', 2: block = '', index }) => ({
    line: text.slice(0, index).split('\n').length + 1,
    language,
    text: block,
  }));
}

/** A refusal fails the command. Commands of ours run in the process of the test, which saves each a second, and the client was built by the test. */
const prelude = `
set -Eeuo pipefail
trap 'echo "failed at $BLOCK: $BASH_COMMAND" >&2' ERR
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
npm() { command npm "$@" --offline --ignore-scripts; }
curl() { command curl --fail-with-body --max-time 60 "$@"; }
npx() {
  [ "$1" = schoolbell ]; shift
  eval "$({ printf '%s\\0' "$@"; printf '\\0'; env -0; } | command curl -s --data-binary @- "$COMMANDS")"
}
`;

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Takes arguments and environment of a command, and answers with what a shell has to do so as if it had run it. */
const commands = createServer(async (request, response) => {
  const [args = '', env = ''] = (await readText(request)).split('\0\0', 2);
  const settings = Object.fromEntries(env.split('\0').map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
  const { code, stdout, stderr } = await runCommandLine(args.split('\0'), settings);
  response.end(`printf %s ${quote(stdout)}; printf %s ${quote(stderr)} >&2; return ${code}`);
});
commands.listen(0, '127.0.0.1');
after(() => {
  commands.close();
  commands.closeAllConnections();
});

async function readText(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of request.setEncoding('utf8')) text += piece as string;
  return text;
}

test('every guide is in the list of guides', () => {
  assert.deepEqual(globSync('docs/{,guides/}*.md', { cwd: repository }).toSorted(), Object.values(guideFiles).flat().toSorted());
});

test('every block says what it is, and no command holds a place for something else', () => {
  for (const file of files) {
    for (const { line, language, text } of listBlocks(file)) {
      assert.match(language, /^(?:sh|text|json)$/, `${file}:${line}: sh is tried, text and json are not`);
      if (language === 'sh') assert.doesNotMatch(text, /…|\.\.\.(?!map)|eyJ|sb_[a-z]+_|<[a-z]|npm run -s schoolbell/i, `${file}:${line}`);
    }
  }
});

test('every command works when pasted, page by page', longest, async () => {
  const tree = clone();
  const dataDir = join(tree, 'data');
  const metrics = String(await freePort());
  const running = await start(dataDir, { tree, env: { METRICS_PORT: metrics } });
  buildClient(join(tree, 'client/dist'));
  process.chdir(tree);
  const outputs = new Map<string, string>();
  const faults: string[] = [];
  const runPage = async (file: string) => {
    const blocks = listBlocks(file).filter(({ language, text }) => language === 'sh' && !runsElsewhere.test(text.trim()));
    const script = blocks.map(({ line, text }) => `BLOCK=${file}:${line}\n${text}`).join('\n');
    const receiver = String(await freePort());
    const here = script.replaceAll('http://127.0.0.1:8080', running.url).replaceAll('127.0.0.1:9464', `127.0.0.1:${metrics}`);
    const { code, output } = await runShell(prelude + here.replaceAll(/(?<=127\.0\.0\.1:|listen\()9000\b/g, receiver), {
      PORT: new URL(running.url).port,
      COMMANDS: `http://127.0.0.1:${(commands.address() as AddressInfo).port}`,
    });
    outputs.set(file, output);
    if (code !== 0) faults.push(`${file} ended with ${code}\n${output.slice(-4_000)}`);
  };
  const inOrder = [...files.filter((file) => file !== movesDemo), movesDemo];
  for (const file of inOrder) await runPage(file);
  assert.deepEqual(faults, []);
  const claimed = /^x-total-count: \d+$/m.exec(readFileSync(join(repository, 'docs/guides/read-a-roster.md'), 'utf8'))?.[0] ?? assert.fail('a total is shown');
  assert.match(outputs.get('docs/guides/read-a-roster.md') ?? '', new RegExp(`^${claimed}\r?$`, 'm'), 'the total that the guide shows');
  assert.match(outputs.get('docs/guides/load-csv.md') ?? '', /added 399, changed 0/, 'the sample was imported');
  assert.equal(readFileSync(join(dataDir, 'code.png')).subarray(1, 4).toString(), 'PNG');
  await stop(running);
});

function runShell(script: string, env: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const path = `${dirname(process.execPath)}:${process.env.PATH}`;
  const shell = spawn('bash', ['-c', script], { cwd: clone(), env: { PATH: path, HOME: process.env.HOME, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [shell.stdout, shell.stderr]) stream.setEncoding('utf8').on('data', (piece: string) => (output += piece));
  return new Promise((resolve) => shell.once('close', (code) => resolve({ code, output })));
}
