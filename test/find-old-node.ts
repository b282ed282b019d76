// In charge of the Node that people begin with: one of the machine that is too old to run the sources, if there is any.
import { execFileSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Else the one that runs the tests, so that they hold everything but the handing over. */
export function findOldNode(): { node: string; isOld: boolean } {
  const places = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'node')).filter((file) => existsSync(file));
  for (const node of new Set(places.map((file) => realpathSync(file)))) {
    const env = { PATH: process.env.PATH ?? '' };
    const major = Number(/^v(\d+)/.exec(execFileSync(node, ['--version'], { encoding: 'utf8', env }))?.[1]);
    if (major >= 20 && major < 24) return { node, isOld: true };
  }
  return { node: process.execPath, isOld: false };
}
