// In charge of the command that writes a backup, once or, by a plan, again and again.
import { requirePassphrase } from '../backup/passphrase.ts';
import { writeBackup, type BackupFacts } from '../backup/write-backup.ts';
import { SchoolbellError } from '../errors.ts';
import { optionalText, type Command, type Given, type Option } from './command.ts';
import { backupListCommand, isAboutPlan, planOptions, runPlan } from './backup-plan.ts';
import { startProgressLine } from './progress-line.ts';
import { stoppable } from './stoppable.ts';

export const passphraseFile: Option = {
  value: '<path or ->',
  help: 'a file with the passphrase in its first line; - is standard input. Without it, BACKUP_PASSPHRASE',
};

export const backupCommands: readonly Command[] = [
  {
    name: 'backup',
    effect: 'changes',
    help: 'Writes a backup while the service runs: the whole database as of one instant, keys and files; encrypted, and read back before it counts.',
    positional: { name: '<file>', help: 'a new file; none is overwritten', optional: true },
    options: { 'passphrase-file': passphraseFile, ...planOptions },
    // One that is taken before an upgrade, by the new version, must not be of what that has changed already.
    leavesSchema: (given) => !isAboutPlan(given),
    async run(context, given) {
      if (isAboutPlan(given)) return runPlan(context, given);
      const { db, config } = context;
      const file = requireFile(given);
      if (Object.hasOwn(planOptions, file))
        throw new SchoolbellError('invalid_request', `"${file}" would be a file: --${file} is an option; ./${file} names the file`);
      const passphrase = await requirePassphrase(config, optionalText(given, 'passphrase-file'));
      const progress = startProgressLine('backup');
      const write = (signal: AbortSignal) => writeBackup({ db, config, passphrase, file, signal, tell: progress.show });
      const facts = await stoppable('no file was made', write).finally(progress.end);
      return { data: facts, lines: describeBackup(facts) };
    },
  },
  backupListCommand,
];

export function requireFile({ positionals: [file = '', ...more] }: Given): string {
  if (more.length > 0) throw new SchoolbellError('invalid_request', 'give one file at a time');
  if (file === '') throw new SchoolbellError('invalid_request', 'name the file of the backup, or, for one again and again, a folder by --to');
  return file;
}

const digits = new Intl.NumberFormat('en-GB');

function describeBackup({ file, bytes, takenAt, version, tables, rows, tookMs }: BackupFacts): string[] {
  return [
    `${file}: ${digits.format(rows)} rows of ${tables} tables, as of ${takenAt.toISOString()}, by Schoolbell ${version}`,
    `${digits.format(bytes)} bytes, written and read back in ${(tookMs / 1000).toFixed(1)} s; without its passphrase it opens for nobody`,
  ];
}
