// In charge of an operator's own password: changed by who knows the present one. That of `admin` is a setting.
import { hashPassword } from '../access/passwords.ts';
import type { Turns } from '../access/hash-pool.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { adminName } from './admin.ts';
import { requireGoodPassword, setPassword } from './links.ts';
import { openSession, requireSession, type Opened, type Operator } from './sessions.ts';
import { tryPassword } from './try-sign-in.ts';

type Given = Readonly<{ present: string; password: string; address: string; publicUrl: string }>;

/** Counted like a sign-in, and locked like one. All sessions end, and this browser gets another. */
export async function changePassword(db: Db, turn: Turns, operator: Operator, { present, password, address, publicUrl }: Given): Promise<Opened> {
  if (operator.signInName === adminName) throw new SchoolbellError('conflict', 'The password of admin is a setting of the service.');
  await requireGoodPassword(password, operator);
  if (password.normalize('NFKC') === present.normalize('NFKC'))
    throw new SchoolbellError('unprocessable', 'This is the password that you have; choose another.');
  const hash = await turn((derive) => hashPassword(derive, password));
  const opened = await tryPassword(db, turn, { name: operator.signInName, password: present, address }, async (tx, account) => {
    await requireSession(tx, operator);
    await setPassword(tx, account, hash);
    return openSession(tx, account, { address, publicUrl, shown: true });
  });
  if (!opened) throw new SchoolbellError('unprocessable', 'The present password is wrong, or the account is locked for a while.');
  return opened;
}
