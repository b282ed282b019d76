// In charge of digests of a package's files: of each as it is read, and of one that is only looked through.
import { createHash, type Hash } from 'node:crypto';
import type { SourceFiles } from '../../source.ts';
import type { CsvPackage, PackageFile } from './package.ts';

/** The same files, noted while they are read to their ends. */
export function noteDigests(files: CsvPackage['files']): { noted: CsvPackage['files']; digests: ReadonlyMap<string, string> } {
  const digests = new Map<string, string>();
  const note = (file: PackageFile): PackageFile => {
    const watch = () => {
      const hash = createHash('sha256');
      return { bytes: (piece: Buffer) => void hash.update(piece), end: () => void digests.set(file.name, ended(hash)) };
    };
    return { ...file, watch };
  };
  return { noted: new Map([...files].map(([name, file]) => [name, note(file)])), digests };
}

/** names: of all that decides what comes of it. */
export function describeFiles(files: CsvPackage['files'], names: readonly string[], digests: ReadonlyMap<string, string>): Omit<SourceFiles, 'pieces'> {
  return {
    names,
    look: async (name) => {
      const hash = createHash('sha256');
      for await (const piece of (await files.get(name)?.open()) ?? []) hash.update(piece as Buffer);
      return ended(hash);
    },
    read: () => Object.fromEntries(digests),
  };
}

const ended = (hash: Hash): string => hash.digest('base64');
