// In charge of whether whoever asks sits at the machine that this runs on.
import type { FastifyRequest } from 'fastify';
import { isLoopback, type Config } from '../config.ts';

type Addresses = Pick<Config, 'host' | 'publicUrl' | 'trustProxy'>;

/** Whatever is added on the way here: who asks may then be anybody. */
const forwarding = new RegExp(
  '^(?:forwarded|via|cdn-loop|(?:.+-)?(?:client|connecting|real|originating|remote|user)-(?:ip|addr)|(?:x-)?forwarded(?:-.+)?|x-host|x-proxy.*|' +
    'x-(?:original|envoy|arr|amzn?|azure|appengine|vercel)-.+|(?:cf|fly|fastly|akamai|ngrok|tailscale)-.+)$',
);

/**
 * A proxy in front makes everybody look as if they did, so that nothing may speak of one: neither a setting, nor a header, nor
 * the protocol (proxies speak HTTP/1.0 unless told otherwise). And a name that merely leads here would let a page of another
 * site ask: the Host header has to be a loopback address, or `localhost`.
 */
export function isAtThisMachine(config: Addresses, { headers, raw }: Pick<FastifyRequest, 'headers' | 'raw'>): boolean {
  const asked = /^(\[[0-9a-f:.]+\]|[^:]+)(?::\d+)?$/i.exec(headers.host ?? '')?.[1] ?? '';
  const speaksOfProxy = raw.httpVersion === '1.0' || Object.keys(headers).some((name) => forwarding.test(name));
  return couldBeAtThisMachine(config) && isLoopbackName(asked.toLowerCase()) && !speaksOfProxy;
}

/** Whether the settings allow anybody to be recognised as being at this machine. */
export function couldBeAtThisMachine({ host, publicUrl, trustProxy }: Addresses): boolean {
  return [host, new URL(publicUrl).hostname].every(isLoopbackName) && trustProxy.length === 0;
}

const isLoopbackName = (name: string) => isLoopback(name.replace(/^\[(.*)\]$/, '$1'));
