// In charge of what the plan needs of backups themselves: to write one, and to prove that it restores.
import type { Config } from '../config.ts';
import type { Db } from '../db/connect.ts';
import { verifyBackup } from './verify-backup.ts';
import { writeBackup } from './write-backup.ts';

export type WrittenBackup = Readonly<{ bytes: number; rows: number; version: string; migration: number; tookMs: number }>;

export type BackupCore = Readonly<{
  /** Whole, or it throws. */
  write(given: { db: Db; config: Config; passphrase: string; file: string; signal?: AbortSignal; tell?: (words: string) => void }): Promise<WrittenBackup>;
  /**
   * scratch: a folder that is empty, and gone afterwards. mostBytes: what the database takes where it is. Throws unless what was restored is what was
   * written.
   */
  verify(given: { file: string; passphrase: string; scratch: string; signal?: AbortSignal; mostBytes?: number }): Promise<unknown>;
}>;

export const backupCore: BackupCore = { write: writeBackup, verify: verifyBackup };
