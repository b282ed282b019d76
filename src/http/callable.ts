// In charge of URLs that callers supply: judged when they are given by the same rules as at every call.
import { SchoolbellError } from '../errors.ts';
import { BlockedTarget, isLiteral, parseTarget, requireAllowedAddress, requireOpenedAddress, type AllowList } from './address-guard.ts';
import { resolveName } from './resolve-name.ts';

/** Throws unless the URL may be called; the message begins with `what`. Returns a remark if the name does not resolve now, because it may do so later. */
export async function requireCallable(what: string, url: string, allowed: AllowList): Promise<string | undefined> {
  try {
    const { hostname } = parseTarget(url);
    const addresses = await findAddresses(hostname);
    for (const { address } of addresses) requireAllowedAddress(address, allowed);
    return addresses.length === 0 ? `${hostname} does not resolve at present; calls will fail until it does.` : undefined;
  } catch (error) {
    if (error instanceof BlockedTarget) throw new SchoolbellError('invalid_request', `${what}: ${error.message}`);
    throw error;
  }
}

const findAddresses = async (hostname: string) => (isLiteral(hostname) ? [{ address: hostname }] : await resolveName(hostname).catch(() => []));

/** Returns the reason why a URL may not receive secrets: plain http to an address outside OUTBOUND_ALLOW, or to a name without addresses. */
export async function findPlainHttpFault(url: string, allowed: AllowList): Promise<string | undefined> {
  if (!/^http:/i.test(url)) return undefined;
  try {
    const { hostname } = parseTarget(url);
    const addresses = await findAddresses(hostname);
    for (const { address } of addresses) requireOpenedAddress(address, allowed);
    return addresses.length === 0 ? `Plain http is allowed only to addresses inside OUTBOUND_ALLOW, and ${hostname} does not resolve.` : undefined;
  } catch (error) {
    if (error instanceof BlockedTarget) return error.message;
    throw error;
  }
}
