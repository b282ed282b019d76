// In charge of writing down what a process of the suite asks of PostgreSQL: each distinct statement once, as a line of
// JSON in a file of the process's own, at the moment it is first seen, so that a process that is killed has said it too.
import { randomUUID } from 'node:crypto';
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

const { RECORDED_STATEMENTS: folder, NODE_OPTIONS: preload } = process.env;
/** The pool over which modules of a version before are made to ask. */
export const unheard = 'version before';

if (folder !== undefined) {
  // Process ids come round again.
  const file = join(folder, `${process.pid}-${randomUUID()}.jsonl`);
  const seen = new Set<string>();
  /** Each cursor has a number of its own, which would make each of its statements another one. */
  const numbered = /(?<=^(?:declare|fetch \d+ from|close) cursor_)\d+/;
  subscribe('schoolbell:statement', (message) => {
    const { text: asked, pool } = message as { text: string; pool: string };
    if (pool === unheard) return;
    const text = asked.replace(numbered, '1');
    if (seen.has(text)) return;
    seen.add(text);
    appendFileSync(file, `${JSON.stringify(text)}\n`);
  });

  // Tests start commands and services with an environment of their own. Another user may not be able to read this file.
  subscribe('tracing:child_process.spawn:start', (message) => {
    const { options } = message as { options: { file: string; uid?: number; envPairs: string[] } };
    if (options.file !== process.execPath || options.uid !== undefined) return;
    const given = options.envPairs.some((pair) => pair.startsWith('RECORDED_STATEMENTS='));
    if (!given) options.envPairs.push(`RECORDED_STATEMENTS=${folder}`, `NODE_OPTIONS=${preload}`);
  });
}
