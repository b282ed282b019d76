// In charge of which sources have passed all tests: the run that saw them leaves their name for the release, which asks for it.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const fileIn = (root: string) => join(root, 'node_modules/.cache/schoolbell/passed');
const git = (root: string, ...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();

/** The tree that is committed, where it is what lies there; undefined where something was changed since, or there is no git. */
export function findTree(root: string): string | undefined {
  try {
    return git(root, 'status', '--porcelain') === '' ? git(root, 'rev-parse', 'HEAD^{tree}') : undefined;
  } catch {
    return undefined;
  }
}

export function notePassed(root: string): void {
  const tree = findTree(root);
  if (tree === undefined) return;
  mkdirSync(dirname(fileIn(root)), { recursive: true });
  writeFileSync(fileIn(root), `${tree}\n`);
}

export function hasPassed(root: string, tree: string): boolean {
  try {
    return readFileSync(fileIn(root), 'utf8').trim() === tree;
  } catch {
    return false;
  }
}
