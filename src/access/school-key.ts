// Keys that name their school: links, cookies and upload tokens. The establishment stands before the random part, so that a key is looked up
// among the rows of that school alone. Only a hash of the whole text is stored, so the random part opens nothing under another name.
import { randomBytes } from 'node:crypto';

/** Occurs in no establishment and in no random part. */
const behindSchool = '~';
const named = new RegExp(`^([A-Za-z0-9._-]{1,32})${behindSchool}`);

export const makeSchoolKey = (estab: string): string => `${estab}${behindSchool}${randomBytes(32).toString('base64url')}`;

/** Returns the school that a key names, or undefined. Only the stored hash proves that the key is genuine. */
export const schoolOfKey = (key: string): string | undefined => named.exec(key)?.[1];
