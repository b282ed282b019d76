// In charge of keys that name their school: links, cookies and upload tokens. Before the random part stands the establishment, so that one is
// looked for at that school alone. What is kept is a hash of the whole text: the random part opens nothing under another name.
import { randomBytes } from 'node:crypto';
import type { Sql } from '../db/connect.ts';
import { hashSecret } from './secrets.ts';

/** No establishment and no random part has it. */
const behindSchool = '~';
const named = new RegExp(`^([A-Za-z0-9._-]{1,32})${behindSchool}`);

export const makeSchoolKey = (estab: string): string => `${estab}${behindSchool}${randomBytes(32).toString('base64url')}`;

/** Which school it says it is of; whether that is so, its hash says there. Undefined for one that names none. */
export const schoolOfKey = (key: string): string | undefined => named.exec(key)?.[1];

/** Which school a link or a cookie is of. Those of the time before name none: their hashes are noted with it until they expire. */
export async function findSchoolOfKey(sql: Sql, key: string): Promise<string | undefined> {
  if (key.includes(behindSchool)) return schoolOfKey(key);
  const [row] = await sql<{ estab: string }[]>`select estab from unnamed_link where hash = ${hashSecret(key)}`;
  return row?.estab;
}
