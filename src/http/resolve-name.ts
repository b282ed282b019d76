// In charge of turning a host name into addresses without the system's resolver, which has four threads for the whole
// process: two names whose servers do not answer would stop every lookup of everybody. The hosts file comes first.
import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';

export type ResolveName = (name: string) => Promise<LookupAddress[]>;

const hostsFile = '/etc/hosts';
const tries = 2;

export const resolveName = createResolveName(1_000);

/** A server is asked twice, and has this long each time. */
export function createResolveName(tryMs: number): ResolveName {
  return (given) => resolve(given, tryMs);
}

async function resolve(given: string, tryMs: number): Promise<LookupAddress[]> {
  const name = given.toLowerCase().replace(/\.$/, '');
  const local = await findLocal(name);
  if (local.length > 0) return local;
  // One for each name: the time limit of one must not depend on what else is asked.
  const resolver = new Resolver({ timeout: tryMs, tries });
  const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const found = [...addressesOf(four, 4), ...addressesOf(six, 6)];
  if (found.length > 0) return found;
  const codes = [four, six].map((outcome) => (outcome.status === 'rejected' ? (outcome.reason as NodeJS.ErrnoException).code : undefined));
  const unknown = codes.every((code) => code === 'ENOTFOUND' || code === 'ENODATA' || code === 'EBADNAME');
  throw Object.assign(
    new Error(unknown ? `ENOTFOUND ${given}: there is no such name` : `EAI_AGAIN ${given}: the name servers do not answer (${codes.join(', ')})`),
    { code: unknown ? 'ENOTFOUND' : 'EAI_AGAIN' },
  );
}

function addressesOf(outcome: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  return outcome.status === 'fulfilled' ? outcome.value.map((address) => ({ address, family })) : [];
}

async function findLocal(name: string): Promise<LookupAddress[]> {
  const lines = (await readFile(hostsFile, 'utf8').catch(() => '')).split('\n').map((line) => line.replace(/#.*/, '').trim().split(/\s+/));
  const found = lines
    .filter(([, ...names]) => names.some((one) => one.toLowerCase() === name))
    .flatMap(([address = '']) => (isIP(address) ? [{ address, family: isIP(address) }] : []));
  if (found.length > 0 || (name !== 'localhost' && !name.endsWith('.localhost'))) return found;
  return [{ address: '127.0.0.1', family: 4 }];
}
