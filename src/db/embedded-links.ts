// In charge of the links beside PostgreSQL's libraries, without which its programs do not start. A package cannot hold links: this one
// lists them and makes them in its install script, which not every npm runs (12 only those that the user has approved).
import { existsSync, lstatSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

type Listed = readonly { source: string; target: string }[];

/** programs: the folder "native" of the package, or a copy of it. False: something is missing and cannot be written there. */
export function makeLinks(programs: string): boolean {
  for (const { at, to } of listMissing(programs)) {
    try {
      symlinkSync(to, at);
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (['EACCES', 'EPERM', 'EROFS'].includes(code)) return false;
      // Another start was quicker.
      if (code !== 'EEXIST') throw error;
    }
  }
  return true;
}

function listMissing(programs: string): { at: string; to: string }[] {
  const list = join(programs, 'pg-symlinks.json');
  const links = existsSync(list) ? (JSON.parse(readFileSync(list, 'utf8')) as Listed) : [];
  return links
    .map(({ source, target }) => ({ at: join(programs, relative('native', target)), to: relative(dirname(target), source) }))
    .filter(({ at }) => !lstatSync(at, { throwIfNoEntry: false }));
}
