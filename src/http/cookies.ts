// In charge of cookies: found in a request, and written so that no script reads them and no other site sends them.
import type { FastifyRequest } from 'fastify';

export type Cookie = { name: string; path: string };

export function findCookie(request: FastifyRequest, { name }: Cookie): string | undefined {
  const pair = (request.headers.cookie ?? '').split(';').map((one) => one.trim()).find((one) => one.startsWith(`${name}=`));
  return pair?.slice(name.length + 1);
}

/** Lax: the first request may come from a mail. Without seconds it ends with the browser. */
export function renderCookie({ name, path }: Cookie, value: string, publicUrl: string, seconds?: number): string {
  const age = seconds === undefined ? '' : `; Max-Age=${seconds}`;
  return `${name}=${value}; Path=${path}${age}; HttpOnly; SameSite=Lax${publicUrl.startsWith('https:') ? '; Secure' : ''}`;
}
