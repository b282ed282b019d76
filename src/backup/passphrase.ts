// The passphrase of backups, from the file that an option names, or else from BACKUP_PASSPHRASE.
import { shortestPassphrase, type Config } from '../config.ts';
import { SchoolbellError } from '../errors.ts';
import { readSecretLine } from '../secret-file.ts';

export async function findPassphrase({ backupPassphrase }: Pick<Config, 'backupPassphrase'>, passphraseFile?: string): Promise<string | undefined> {
  if (passphraseFile === undefined) return backupPassphrase;
  const passphrase = await readSecretLine('--passphrase-file', passphraseFile);
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
