// In charge of who is at the command line, for the trail.
import { hostname, userInfo } from 'node:os';
import type { Actor } from './audit-trail.ts';

/** On this machine; a user without a name, as in a container, by their number. */
export function whoIsHere(): Actor {
  return { name: userName(), via: 'command line', from: hostname() };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}
