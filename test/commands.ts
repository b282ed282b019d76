// In charge of commands for tests: run in this process, arguments, settings and database included, or as the operator
// does it, in a process of their own.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { runCommandLine } from '../src/command-line.ts';

export type Run = { code: number; out: string; err: string };
type Settings = Record<string, string>;

/** A process costs a second of a core; only a command that hangs is ended. */
const longestMs = 180_000;

export function useCommands(settings: Settings) {
  /** ask: somebody who sits at the terminal. */
  async function run(args: readonly string[], env: Settings = settings, ask?: (question: string) => Promise<string>): Promise<Run> {
    const { code, stdout, stderr } = await runCommandLine(args, env, ask);
    return { code, out: stdout, err: stderr };
  }

  const schoolbell = (line: string, ...more: string[]) => run([...line.split(' '), ...more]);

  async function json<T = Record<string, unknown>>(line: string, ...more: string[]): Promise<T> {
    const { code, out, err } = await schoolbell(line, ...more, '--json');
    assert.deepEqual([code, err.replaceAll(/^schoolbell: warning: .*\n/gm, '')], [0, ''], `${line}: ${err}`);
    return JSON.parse(out) as T;
  }

  async function assertFails(reason: RegExp, line: string, ...more: string[]): Promise<Run> {
    const result = await schoolbell(line, ...more);
    assertFailed(result, reason, line);
    return result;
  }

  return { run, schoolbell, json, assertFails };
}

/** Ends with 1 and says why on standard error, in words. */
export function assertFailed(result: Run, reason: RegExp, line = ''): void {
  assert.equal(result.code, 1, `${line}: ended with ${result.code} ${result.err}`);
  assert.match(result.err, reason);
  assert.match(result.err, /^schoolbell: /);
  assert.doesNotMatch(result.err, /\n\s+at |node_modules/, 'a stack is no message');
}

type ProcessOptions = { input?: string; uid?: number | undefined };

/** Runs a real process in that folder, with only these settings, with `input` on its standard input, as another user if `uid` is given. */
export function runProcess(folder: string, env: Settings, args: readonly string[], { input = '', uid }: ProcessOptions = {}): Promise<Run> {
  const cli = join(import.meta.dirname, '../src/cli.ts');
  const as = uid === undefined ? {} : { uid, gid: uid };
  return new Promise((resolve) => {
    const options = { cwd: folder, env: { PATH: process.env.PATH ?? '', ...env }, timeout: longestMs, ...as };
    const child = execFile(process.execPath, [cli, ...args], options, (error, out, err) => {
      resolve({ code: error ? (typeof error.code === 'number' ? error.code : -1) : 0, out, err });
    });
    child.stdin?.end(input);
  });
}
