// In charge of the command that brings a backup back, or only looks whether it could.
import { writeFile } from 'node:fs/promises';
import { newestMigrationOf, type Unsettled } from '../backup/format.ts';
import type { Deliveries } from '../backup/hold-deliveries.ts';
import { requirePassphrase } from '../backup/passphrase.ts';
import { readBackup, type BackupContents } from '../backup/read-backup.ts';
import { restoreBackup, type RestoreFacts } from '../backup/restore-backup.ts';
import { explainFileFault } from '../environment-fault.ts';
import { SchoolbellError } from '../errors.ts';
import { passphraseFile, requireFile } from './backup.ts';
import { optionalText, type Ask, type Given, type Outcome, type StandaloneCommand } from './command.ts';
import { startProgressLine } from './progress-line.ts';
import { stoppable } from './stoppable.ts';

export const restoreCommands: readonly StandaloneCommand[] = [
  {
    name: 'restore',
    help: 'Restores a backup of this or an older version into a database without tables, that of DATA_DIR (made if it is not there) or DATABASE_URL.',
    positional: { name: '<file>', help: 'the backup' },
    options: {
      'passphrase-file': passphraseFile,
      deliveries: {
        value: 'hold|send',
        help: 'calls and mails that waited when the backup was taken, and may have gone out since: hold them until somebody sends them, or send them now',
      },
      check: { value: undefined, help: 'read the file to its end and hold it against its own list; nothing else' },
      'secret-key-to': { value: '<file>', help: 'write what SECRET_KEY has to be for this backup into a new file; nothing else' },
    },
    // Whoever asks for the key has none to set.
    needsNoDatabase: ({ options }) => options.check === true || options['secret-key-to'] !== undefined,
    async runAlone(config, given, ask) {
      const file = requireFile(given);
      const passphrase = await requirePassphrase(config, optionalText(given, 'passphrase-file'));
      const asked = parseDeliveries(given);
      const keyFile = optionalText(given, 'secret-key-to');
      const alone = [given.options.check === true && '--check', keyFile !== undefined && '--secret-key-to', asked && '--deliveries'].filter(Boolean);
      if (alone.length > 1) throw new SchoolbellError('invalid_request', `${alone.join(' and ')}: give one of them at a time`);
      let progress = startProgressLine('restore');
      if (given.options.check === true || keyFile !== undefined) {
        progress.show('reading the backup');
        const contents = await readBackup({ source: file, passphrase }).finally(progress.end);
        return keyFile === undefined ? describeContents(file, contents) : writeKeys(keyFile, contents.keys);
      }
      const deliveries = async (unsettled: Unsettled) => {
        // A question is not written over.
        progress.end();
        const decided = asked ?? (await decide(unsettled, ask));
        progress = startProgressLine('restore');
        return decided;
      };
      const restore = (signal: AbortSignal) => restoreBackup({ config, file, passphrase, deliveries, signal, tell: (words) => progress.show(words) });
      const facts = await stoppable('nothing was changed', restore).finally(() => progress.end());
      return { data: facts, lines: describeRestored(facts) };
    },
  },
];

const choices: readonly Deliveries[] = ['hold', 'send'];

function parseDeliveries(given: Given): Deliveries | undefined {
  const value = optionalText(given, 'deliveries');
  const found = choices.find((one) => one === value);
  if (value !== undefined && !found) throw new SchoolbellError('invalid_request', `--deliveries "${value}": must be hold or send`);
  return found;
}

async function decide(unsettled: Unsettled, ask: Ask): Promise<Deliveries> {
  if (unsettled.calls + unsettled.mails === 0) return 'send';
  const waiting = `${countOf(unsettled)} had not gone out when the backup was taken, and may have since`;
  if (!ask) throw new SchoolbellError('conflict', `${waiting}; say --deliveries hold, to send them by hand, or --deliveries send. Nothing was changed`);
  const explained = 'hold: they stand as failed, until somebody sends them. send: they go out under the same ids.';
  const answer = await ask(`${waiting}.\n${explained}\nhold or send? `);
  const found = choices.find((one) => one === answer.trim().toLowerCase());
  if (!found) throw new SchoolbellError('conflict', 'nothing was changed');
  return found;
}

const digits = new Intl.NumberFormat('en-GB');
const several = (count: number, one: string) => `${digits.format(count)} ${one}${count === 1 ? '' : 's'}`;
const countOf = ({ calls, mails }: Unsettled) => `${several(calls, 'call')} and ${several(mails, 'mail')}`;

function describeRestored(facts: RestoreFacts): string[] {
  const { into, takenAt, version, tables, rows, held, restoredAt, unsettled, deliveries, leftOut, tookMs } = facts;
  const { waits, writebacks } = unsettled;
  return [
    `restored ${digits.format(rows)} rows of ${tables} tables into ${into}, in ${(tookMs / 1000).toFixed(1)} s`,
    `they are as of ${takenAt.toISOString()}, by Schoolbell ${version}`,
    ...(leftOut.length > 0 ? [`left out, since they are not of Schoolbell: ${leftOut.join(', ')}`] : []),
    ...(held > 0
      ? [
          `${countOf(unsettled)} are held as failed: look with deliveries --state failed and mails, send calls with replay <id> or ` +
            `replay --failed-since ${restoredAt.toISOString()}, mails with work retry <id>`,
        ]
      : []),
    ...(deliveries === 'send' && unsettled.calls + unsettled.mails > 0 ? [`${countOf(unsettled)} go out with the next start`] : []),
    ...(waits + writebacks > 0
      ? [
          `${several(waits, 'wait')} for data and ${several(writebacks, 'writeback')} were open: they go on, or end by their deadlines, ` +
            'and whoever waits is called',
        ]
      : []),
    'what was changed after that instant is as it was then: what was revoked or replaced since has to be again',
  ];
}

function describeContents(file: string, { head, end, files }: BackupContents): Outcome {
  const rows = end.tables.reduce((sum, table) => sum + table.rows, 0);
  const { version, takenAt, postgres } = head;
  const [tables, unsettled] = [end.tables.length, end.unsettled];
  return {
    data: { file, takenAt, version, migration: newestMigrationOf(head), postgres, tables, rows, files: files.length, unsettled },
    lines: [
      `${file} is whole: ${digits.format(rows)} rows of ${tables} tables and ${several(files.length, 'file')}`,
      `they are as of ${takenAt}, by Schoolbell ${version}`,
      `${countOf(unsettled)} had not gone out`,
    ],
  };
}

async function writeKeys(file: string, keys: readonly string[]): Promise<Outcome> {
  await writeFile(file, `${keys.join(',')}\n`, { mode: 0o600, flag: 'wx' }).catch((error: unknown) => {
    throw explainFileFault(error, `--secret-key-to ${file}`, 'output');
  });
  return { data: { file, keys: keys.length }, lines: [`${file} holds what SECRET_KEY has to be; nothing else was done`] };
}
