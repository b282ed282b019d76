// In charge of the addresses of inboxes, and of telling one of ours from every other address there is.
import { parseTarget } from '../../http/address-guard.ts';

const root = '/console/inbox';
/** Named `token`, so that no log has it. */
export const inboxRoute = `${root}/:token`;

export const inboxUrl = (publicUrl: string, key: string) => `${publicUrl}${root}/${key}`;

/**
 * The key of an inbox of this service, and the path as it was given; undefined for every other address, which is called over the
 * network, under its guard, or not at all. Nothing is decoded or made simpler: what has to be is not ours.
 */
export function findInbox(publicUrl: string, url: string): { key: string; path: string } | undefined {
  const own = new URL(publicUrl);
  const target = findTarget(url);
  if (target?.origin !== own.origin) return undefined;
  const before = `${own.pathname.replace(/\/+$/, '')}${root}/`;
  if (!target.path.startsWith(before)) return undefined;
  const [, key] = /^([A-Za-z0-9_-]{43})(?:\?.*)?$/.exec(target.path.slice(before.length)) ?? [];
  return key === undefined ? undefined : { key, path: target.path };
}

function findTarget(url: string): ReturnType<typeof parseTarget> | undefined {
  try {
    return parseTarget(url);
  } catch {
    return undefined;
  }
}
