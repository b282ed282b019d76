// Decides which URLs and addresses outgoing calls may reach. The same rules apply when a URL is registered and at every call, and a
// refusal gives the reason.
import ipaddr from 'ipaddr.js';
import { lately } from './lately.ts';
import { specialAddresses } from './special-addresses.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type AllowList = readonly [Address, number][];

/** Why a call may not be made; the message is for whoever supplied the URL. */
export class BlockedTarget extends Error {
  readonly reason: 'invalid_url' | 'blocked_address' | 'plain_http';

  constructor(reason: BlockedTarget['reason'], message: string) {
    super(message);
    this.name = 'BlockedTarget';
    this.reason = reason;
  }
}

/** A URL taken apart without rewriting it: path and query are sent byte for byte. */
export type CallTarget = Readonly<{ origin: string; hostname: string; port: number; path: string }>;

export const maxUrlCharacters = 4096;
const lowestUnprivilegedPort = 1024;

export function parseAllowList(cidrs: readonly string[]): AllowList {
  return cidrs.map((cidr) => (cidr.includes('/') ? ipaddr.parseCIDR(cidr) : [ipaddr.parse(cidr), cidr.includes(':') ? 128 : 32]));
}

/** The usual parsers rewrite quotes, dots and ports; this one only looks. */
export function parseTarget(url: string): CallTarget {
  const refuse = (message: string): never => {
    throw new BlockedTarget('invalid_url', message);
  };
  if (url.length > maxUrlCharacters) refuse(`The URL has ${url.length} characters; at most ${maxUrlCharacters} are taken.`);
  if (!/^[\x21-\x7e]*$/.test(url)) refuse('The URL must be printable ASCII without spaces; percent-encode everything else.');
  const parts = /^(https?):\/\/([^/?#]*)([^#]*)/i.exec(url);
  const [, scheme = '', authority = '', rest = ''] = parts ?? refuse('The URL must begin with http:// or https://.') ?? [];
  if (authority.includes('@')) refuse('The URL must not hold a user name or password.');
  const isHost = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?$/.test(authority);
  const { protocol, hostname, port: given } = (isHost ? URL.parse(`${scheme}://${authority}/`) : null) ?? refuse('The URL has no valid host.');
  const port = given === '' ? (protocol === 'https:' ? 443 : 80) : Number(given);
  if (port !== 80 && port !== 443 && port < lowestUnprivilegedPort) refuse(`Port ${port} is not called; use 80, 443 or one from ${lowestUnprivilegedPort} on.`);
  return {
    origin: `${protocol}//${hostname}${given === '' ? '' : `:${given}`}`,
    hostname: hostname.replace(/^\[|\]$/g, ''),
    port,
    path: rest.startsWith('/') ? rest : `/${rest}`,
  };
}

const mostJudged = 1_000;
const judges = new WeakMap<AllowList, (text: string) => boolean>();

/** Whether the address is public, or in one of these ranges. */
export function isAllowedAddress(text: string, allowed: AllowList): boolean {
  const judge = judges.get(allowed) ?? lately((address) => judgeAddress(address, allowed), mostJudged);
  judges.set(allowed, judge);
  return judge(text);
}

const blocked = specialAddresses.map(({ block, name }) => ({ range: ipaddr.parseCIDR(block), name }));

const isWithin = (address: Address, range: AllowList[number]) => address.kind() === range[0].kind() && address.match(range as never);

function judgeAddress(text: string, allowed: AllowList): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  return findBlock(address) === undefined || allowed.some((range) => isWithin(address, range));
}

function findBlock(address: Address): (typeof blocked)[number] | undefined {
  return blocked.find(({ range }) => isWithin(address, range));
}

/** Throws unless the address is public, or an operator opened it. */
export function requireAllowedAddress(text: string, allowed: AllowList): void {
  if (isAllowedAddress(text, allowed)) return;
  if (!ipaddr.isValid(text)) throw new BlockedTarget('blocked_address', `"${text}" is not an address.`);
  const address = ipaddr.process(text);
  throw new BlockedTarget(
    'blocked_address',
    `${address.toString()} is ${findBlock(address)?.name ?? 'blocked'}, not a public address; the operator can open it with OUTBOUND_ALLOW.`,
  );
}

/** Throws unless the address is inside `OUTBOUND_ALLOW`: only there may a secret travel over plain http. */
export function requireOpenedAddress(text: string, allowed: AllowList): void {
  const address = ipaddr.isValid(text) ? ipaddr.process(text) : undefined;
  if (address && allowed.some((range) => isWithin(address, range))) return;
  const shown = address?.toString() ?? `"${text}"`;
  throw new BlockedTarget('plain_http', `Secrets are sent over https. Plain http is allowed only to addresses inside OUTBOUND_ALLOW, and ${shown} is not.`);
}

export function isLiteral(hostname: string): boolean {
  return ipaddr.isValid(hostname);
}
