// In charge of reading the Containerfile for tests: its instructions, and what is let into the image.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const read = (file: string) => readFileSync(join(import.meta.dirname, '..', file), 'utf8');

type Instruction = { word: string; text: string };
export const instructions: readonly Instruction[] = read('Containerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line.trim() !== '')
  .map((line) => ({ word: line.split(' ', 1)[0] ?? '', text: line.slice(line.indexOf(' ') + 1).trim() }));
export const textsOf = (word: string, among = instructions) => among.filter((one) => one.word === word).map(({ text }) => text);
/** What is made of the last stage is the image. */
export const last = instructions.slice(instructions.findLastIndex(({ word }) => word === 'FROM'));

/** What is let into the image: all is shut out, and what begins with an exclamation mark let in again. */
export function listContext(): string[] {
  const lines = read('.containerignore').split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  assert.equal(lines.shift(), '*');
  const letIn = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
  assert.deepEqual(lines.filter((line) => !line.startsWith('!')), ['**/*.test.ts']);
  return letIn;
}
