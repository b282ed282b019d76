// In charge of running samples as their readers do: each a file of its own, in a process of its own, with variables set.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

export type Language = 'curl' | 'typescript' | 'python';
type Variables = Record<string, string>;
export type Ran = { code: number; out: string; err: string };

/** Only what hangs is ended. */
const longestMs = 180_000;
const programs = {
  curl: { file: 'sample.sh', command: 'sh', needs: 'curl' },
  // Types are stripped by the Node that runs the tests; that they are right is for the compiler to say.
  typescript: { file: 'sample.mts', command: process.execPath, needs: process.execPath },
  python: { file: 'sample.py', command: 'python3', needs: 'python3' },
} as const satisfies Record<Language, { file: string; command: string; needs: string }>;
export const languages = Object.keys(programs) as Language[];

/** Whether this machine has what a language needs; a reason to skip otherwise. */
export async function findMissing(language: Language, ...more: readonly string[]): Promise<string | false> {
  for (const command of [programs[language].needs, ...more]) {
    const { code } = await runFile(command, [command === 'openssl' ? 'version' : '--version'], process.cwd(), {});
    if (code !== 0) return `there is no ${command} on this machine`;
  }
  return false;
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

export type Program = { name: string; text: string; files?: Record<string, string | Uint8Array> };

/** One process runs them all, one after the other: that is a tenth of the time. What each failed with, if anything. */
export async function runInBatch(folder: string, language: Language, all: readonly Program[], env: Variables): Promise<Map<string, string>> {
  const place = mkdtempSync(join(folder, `${language}-`));
  const { file, command } = programs[language];
  all.forEach(({ text, files = {} }, at) => {
    mkdirSync(join(place, String(at)));
    for (const [name, content] of Object.entries({ ...files, [file]: text })) writeFileSync(join(place, String(at), name), content);
  });
  writeFileSync(join(place, batches[language].file), batches[language].text(all.length));
  const { err, code } = await runFile(command, [batches[language].file], place, env);
  const failed = new Map<string, string>();
  all.forEach(({ name }, at) => {
    const told = existsSync(join(place, `${at}.result`)) ? readFileSync(join(place, `${at}.result`), 'utf8').trim() : `it was not run: ${code} ${err}`;
    if (told !== 'ok') failed.set(name, told);
  });
  return failed;
}

const batches: Record<Language, { file: string; text: (count: number) => string }> = {
  curl: {
    file: 'batch.sh',
    text: (count) => `at=0
while [ "$at" -lt ${count} ]; do
  if (cd "$at" && sh sample.sh) >"$at.out" 2>&1; then echo ok >"$at.result"; else cat "$at.out" >"$at.result"; fi
  at=$((at + 1))
done
`,
  },
  typescript: {
    file: 'batch.mjs',
    text: (count) => `import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
const place = process.cwd();
console.log = () => {};
for (let at = 0; at < ${count}; at += 1) {
  process.chdir(join(place, String(at)));
  const told = await import(pathToFileURL(join(place, String(at), 'sample.mts'))).then(() => 'ok', (error) => String(error.stack));
  writeFileSync(join(place, \`\${at}.result\`), told);
}
`,
  },
  python: {
    file: 'batch.py',
    text: (count) => `import contextlib, io, os, runpy, traceback
place = os.getcwd()
for at in range(${count}):
    os.chdir(os.path.join(place, str(at)))
    told = "ok"
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path("sample.py")
    except SystemExit as error:
        told = str(error.code)
    except BaseException:
        told = traceback.format_exc()
    with open(os.path.join(place, f"{at}.result"), "w") as file:
        file.write(told)
`,
  },
};
