// In charge of a process that writes or restores a backup and kills itself as soon as it says that it does what it is told.
import { parseArgs } from 'node:util';
import { restoreBackup } from '../src/backup/restore-backup.ts';
import { writeBackup } from '../src/backup/write-backup.ts';
import { readConfig } from '../src/config.ts';
import { connect } from '../src/db/connect.ts';
import { policies } from '../src/db/policies.ts';

const text = { type: 'string' } as const;
const { values, positionals } = parseArgs({ allowPositionals: true, options: { at: { ...text, default: '' }, file: { ...text, default: '' } } });
const config = readConfig();
const passphrase = config.backupPassphrase ?? '';
const tell = (words: string) => {
  if (words.startsWith(values.at)) process.kill(process.pid, 'SIGKILL');
};

if (positionals[0] === 'restore') await restoreBackup({ config, file: values.file, passphrase, deliveries: 'hold', tell });
else await writeBackup({ db: connect(config.databaseUrls?.[0] ?? '', policies.backups), config, file: values.file, passphrase, tell, workFactor: 4 });
