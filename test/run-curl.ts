// In charge of lines of curl that the product shows: tests run them as a shell and curl would, also where there is no curl.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** variables: what the shell knows; folder: where the line is run. */
export async function runCurl(line: string, folder: string, variables: Record<string, string> = {}): Promise<{ status: number; body: string }> {
  const expanded = line.replaceAll(/\$(\w+)/g, (_, name: string) => variables[name] ?? assert.fail(`${line}: there is no ${name}`));
  const [program, ...words] = [...expanded.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  assert.equal(program, 'curl');
  const headers: Record<string, string> = {};
  let [url, file] = ['', ''];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (word === '--fail-with-body') continue;
    if (word === '-T') file = words[(at += 1)] ?? '';
    else if (word === '-H') {
      const [, name = '', value = ''] = /^([^:]+): (.*)$/.exec(words[(at += 1)] ?? '') ?? [];
      headers[name] = value;
    } else {
      assert.match(word, /^https?:\/\/[^/]/, `curl would take "${word}" for an address`);
      url = word;
    }
  }
  const response = await fetch(url, { headers, ...(file === '' ? {} : { method: 'PUT', body: await readFile(join(folder, file)) }) });
  return { status: response.status, body: await response.text() };
}
