// Faults of the machine or the settings, restated for the operator: which place, what is wrong there, and the remedy.
import { isDatabaseDiskFull } from './db/unavailable.ts';

/** The message is for the operator, on a terminal or in the log. It may name folders, so that no API response repeats it. */
export class EnvironmentFault extends Error {
  /** The system's code if there is one, such as ENOSPC. */
  readonly code: string;

  constructor(message: string, { code = 'ENVIRONMENT', cause }: { code?: string; cause?: unknown } = {}) {
    super(message, { cause });
    this.name = 'EnvironmentFault';
    this.code = code;
  }
}

const whoAmI = () => (process.getuid ? `user ${process.getuid()}` : 'the user that runs Schoolbell');

const diskFull = 'the disk is full. Free some space or move it to a larger disk, and try again';
const notAFolder = 'it is not a directory, or lies below a file. Name a directory; it is created if it does not exist';
const tooLong = 'the name is too long. Name a shorter one';
const belowAFile = 'one of its folders is a file. Name another path';
const isAFolder = 'it is a directory. Name a file';
const notWritable = (other: string) => `it is not writable for ${whoAmI()}. Give it to that user (chown, chmod), or name another ${other}`;
const readOnly = (other: string) => `it is on a read-only file system. Mount it for writing, or name another ${other}`;
const outputDiskFull = 'the disk is full. Free some space or name a file on another disk, and try again';
const notReadable = () => `it is not readable for ${whoAmI()}. Give that user the right to read it (chown, chmod)`;

type Faults = Readonly<Record<string, () => string>>;

/** By what the place is used for: a folder for files of Schoolbell, or a file that a command was told to write or to read. */
const faults: Readonly<Record<'folder' | 'output' | 'input', Faults>> = {
  folder: {
    ENOSPC: () => diskFull,
    EDQUOT: () => diskFull,
    EACCES: () => notWritable('folder'),
    EPERM: () => notWritable('folder'),
    EROFS: () => readOnly('folder'),
    EEXIST: () => notAFolder,
    ENOTDIR: () => notAFolder,
    ELOOP: () => 'its symbolic links lead back to themselves. Correct the links, or name another folder',
    ENAMETOOLONG: () => tooLong,
  },
  output: {
    ENOSPC: () => outputDiskFull,
    EDQUOT: () => outputDiskFull,
    EACCES: () => notWritable('file'),
    EPERM: () => notWritable('file'),
    EROFS: () => readOnly('file'),
    EEXIST: () => 'it exists already. Name a new file',
    ENOENT: () => 'its folder does not exist. Create the folder, or name another file',
    ENOTDIR: () => belowAFile,
    EISDIR: () => isAFolder,
    ENAMETOOLONG: () => tooLong,
  },
  input: {
    EACCES: notReadable,
    EPERM: notReadable,
    ENOENT: () => 'there is no such file. Check the name',
    ENOTDIR: () => belowAFile,
    EISDIR: () => isAFolder,
    ENAMETOOLONG: () => tooLong,
  },
};

/** Restates a failed file operation, naming the place, such as `DATA_DIR /var/lib/schoolbell`. Returns any other error as it is. */
export function explainFileFault(error: unknown, place: string, use: keyof typeof faults = 'folder'): unknown {
  if (error instanceof EnvironmentFault) return error;
  const { code = '' } = error as NodeJS.ErrnoException;
  const words = faults[use][code]?.();
  return words === undefined ? error : new EnvironmentFault(`${place}: ${words}`, { code, cause: error });
}

/** The messages of PostgreSQL's programs and of C libraries for ENOSPC and EDQUOT in the C locale. */
const diskFullOutput = /No space left on device|Disk quota exceeded/;

/** Restates the output of a failed program of PostgreSQL. */
export function explainProgramFault(program: string, output: string, place: string): EnvironmentFault {
  if (diskFullOutput.test(output)) return new EnvironmentFault(`${place}: ${diskFull}`, { code: 'ENOSPC' });
  return new EnvironmentFault(`${place}: ${program} failed: ${output}`);
}

/** Restates a database that has no room, naming where it lies. Returns any other error as it is. */
export function explainDatabaseFault(error: unknown, place: string): unknown {
  if (!isDatabaseDiskFull(error)) return error;
  return new EnvironmentFault(`the disk of the database in ${place} is full. Free some space or move it to a larger disk, and try again`, {
    code: 'ENOSPC',
    cause: error,
  });
}
