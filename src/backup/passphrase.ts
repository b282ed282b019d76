// In charge of finding the passphrase of backups: in the file that is named, else in BACKUP_PASSPHRASE.
import { readFile } from 'node:fs/promises';
import { shortestPassphrase, type Config } from '../config.ts';
import { SchoolbellError } from '../errors.ts';

/** The first line of the file is it; what stands around it is not. */
export async function findPassphrase({ backupPassphrase }: Pick<Config, 'backupPassphrase'>, passphraseFile?: string): Promise<string | undefined> {
  if (passphraseFile === undefined) return backupPassphrase;
  const text = await readFile(passphraseFile, 'utf8').catch((error: Error) => {
    throw new SchoolbellError('invalid_request', `--passphrase-file cannot be read: ${error.message}`, { cause: error });
  });
  const passphrase = (text.split(/\r?\n/)[0] ?? '').trim();
  if ([...passphrase].length < shortestPassphrase)
    throw new SchoolbellError('invalid_request', `the passphrase in ${passphraseFile} needs at least ${shortestPassphrase} characters, in its first line`);
  return passphrase;
}

export async function requirePassphrase(config: Pick<Config, 'backupPassphrase'>, passphraseFile?: string): Promise<string> {
  const passphrase = await findPassphrase(config, passphraseFile);
  if (passphrase !== undefined) return passphrase;
  throw new SchoolbellError(
    'invalid_request',
    'a backup is encrypted, and needs a passphrase: name a file that holds it by --passphrase-file, or set BACKUP_PASSPHRASE',
  );
}
