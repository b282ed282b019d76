// In charge of running samples as their readers do: each a file of its own, in a process of its own, with variables set.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

export type Language = 'curl' | 'typescript' | 'python';
type Variables = Record<string, string>;
export type Ran = { code: number; out: string; err: string };

/** Only what hangs is ended. */
const longestMs = 180_000;
const programs = {
  curl: { file: 'sample.sh', command: 'sh', needs: ['curl', '--version'] },
  // Types are stripped by the Node that runs the tests; that they are right is for the compiler to say.
  typescript: { file: 'sample.mts', command: process.execPath, needs: [process.execPath, '--version'] },
  python: { file: 'sample.py', command: 'python3', needs: ['python3', '--version'] },
} as const satisfies Record<Language, { file: string; command: string; needs: readonly [string, string] }>;
export const languages = Object.keys(programs) as Language[];

/** Whether this machine has what a language needs; a reason to skip otherwise. */
export async function findMissing(language: Language): Promise<string | false> {
  const { needs: [command, argument] } = programs[language];
  const { code } = await runFile(command, [argument], process.cwd(), {});
  return code === 0 ? false : `there is no ${command} on this machine`;
}

export function useSamples() {
  const folder = mkdtempSync(join(tmpdir(), 'schoolbell-samples-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  let made = 0;
  return {
    folder,
    /** In a folder of its own, in which what it reads lies and what it writes is found. */
    async run(language: Language, text: string, env: Variables, files: Record<string, string | Uint8Array> = {}): Promise<Ran & { folder: string }> {
      const place = mkdtempSync(join(folder, `${(made += 1)}-`));
      const { file, command } = programs[language];
      for (const [name, content] of Object.entries({ ...files, [file]: text })) writeFileSync(join(place, name), content);
      return { ...(await runFile(command, [file], place, env)), folder: place };
    },
  };
}

function runFile(command: string, args: readonly string[], cwd: string, env: Variables): Promise<Ran> {
  const { NODE_OPTIONS: _recorder, RECORDED_STATEMENTS: _recorded, ...own } = process.env;
  const options = { cwd, env: { ...own, PYTHONDONTWRITEBYTECODE: '1', ...env }, timeout: longestMs, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve) => {
    execFile(command, [...args], options, (error, out, err) =>
      resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : 127, out, err }),
    );
  });
}
