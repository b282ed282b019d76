// In charge of the names of targets: a registration by its own id, an application's callback URL as `callback:<rp>`, an
// application and the origin of its one-off URLs as `one-off:<rp>:<origin>`. Each is the key of a lane, written so that it
// needs no quotes on a command line, and stays the same as long as the target is there.
import { callbackLane } from './move-callback.ts';
import { oneOffLane } from './one-off.ts';
import { laneKey } from './webhooks.ts';

export type TargetKind = 'registration' | 'callback' | 'one-off';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Undefined for a lane of other work. */
export function findTargetId(key: string): { id: string; kind: TargetKind } | undefined {
  const [, family = '', rest = ''] = /^(webhook|callback|one-off) (.+)$/.exec(key) ?? [];
  if (family === 'webhook') return { id: rest, kind: 'registration' };
  if (family === 'callback') return { id: `callback:${rest}`, kind: 'callback' };
  return family === 'one-off' ? { id: `one-off:${rest.replace(' ', ':')}`, kind: 'one-off' } : undefined;
}

/** The key of its lane; undefined for what can be no target's id. */
export function findTargetKey(id: string): string | undefined {
  if (uuid.test(id)) return laneKey(id.toLowerCase());
  const [, rp, origin] = /^(?:callback:|one-off:)([\w.-]{1,64})(?::(https?:\/\/[\x21-\x7e]{1,300}))?$/.exec(id) ?? [];
  if (rp === undefined) return undefined;
  if (id.startsWith('callback:')) return origin === undefined ? callbackLane(rp) : undefined;
  return origin === undefined ? undefined : oneOffLane(rp, origin);
}
