// In charge of replacing a secret of an application, of any kind: the new one is given once, and the old one ends when it was said.
import { rotateApplicationSecret } from '../access/applications.ts';
import { rotateSchoolSecret } from '../access/authorisations.ts';
import type { SecretOf } from '../access/credentials.ts';
import { keptSeconds } from '../access/secrets.ts';
import { announceRotation, type Deciding } from './approve.ts';

export type Rotated = { secret: string; oldEnds: Date; keptSeconds: number };

/** replaces: the id of the one that is there; if it is not any more, nothing is done. */
export async function rotateSecret(
  { db, seal }: Pick<Deciding, 'db' | 'seal'>,
  of: SecretOf,
  { keepSeconds = keptSeconds[of.kind], replaces }: { keepSeconds?: number | undefined; replaces?: string | undefined } = {},
): Promise<Rotated> {
  const secret =
    of.kind === 'school'
      ? await rotateSchoolSecret(db, of.rp, of.estab, (tx, issued) => announceRotation(tx, seal, of, issued), keepSeconds, replaces)
      : await rotateApplicationSecret(db, seal, of.rp, of.kind, keepSeconds, replaces);
  return { secret, oldEnds: new Date(Date.now() + keepSeconds * 1000), keptSeconds: keepSeconds };
}
