// In charge of URLs that callers supply: judged when they are given by the same rules as at every call.
import { SchoolbellError } from '../errors.ts';
import { BlockedTarget, isLiteral, parseTarget, requireAllowedAddress, type AllowList } from './address-guard.ts';
import { resolveName } from './resolve-name.ts';

/** Throws unless it may be called. A name that does not resolve now may do so later: a remark, not a refusal. */
export async function requireCallable(parameter: string, url: string, allowed: AllowList): Promise<string | undefined> {
  try {
    const { hostname } = parseTarget(url);
    const addresses = isLiteral(hostname) ? [{ address: hostname }] : await resolveName(hostname).catch(() => []);
    for (const { address } of addresses) requireAllowedAddress(address, allowed);
    return addresses.length === 0 ? `${hostname} does not resolve at present; calls will fail until it does.` : undefined;
  } catch (error) {
    if (error instanceof BlockedTarget) throw new SchoolbellError('invalid_request', `"${parameter}" cannot be called: ${error.message}`);
    throw error;
  }
}
