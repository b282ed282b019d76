// In charge of the school that a browser remembers: that of whoever last signed in with it. The page shows what the cookie
// says and asks nobody, so that a made-up one tells nothing.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { writeSchool } from '../access/find-school.ts';
import type { Db } from '../db/connect.ts';
import { findCookie, renderCookie } from '../http/cookies.ts';

const placeCookie = { name: 'schoolbell_place', path: '/' } as const;
const rememberedDays = 400;
const longestName = 100;

export async function rememberSchool(db: Db, reply: FastifyReply, estab: string, publicUrl: string): Promise<void> {
  const [school] = await db<{ name: string }[]>`select name from establishment where estab = ${estab}`;
  const shown = writeSchool({ estab, name: (school?.name ?? estab).slice(0, longestName) });
  reply.header('set-cookie', renderCookie(placeCookie, encodeURIComponent(shown), publicUrl, rememberedDays * 24 * 3600));
}

/** As it is typed into the form; empty where nothing is remembered. */
export function readRememberedSchool(request: FastifyRequest): string {
  try {
    return decodeURIComponent(findCookie(request, placeCookie) ?? '');
  } catch {
    return '';
  }
}
