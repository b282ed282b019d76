// In charge of the outgoing call that everything leaving uses: guarded at the literal, the resolved and the connected
// address, bounded in time and size, never redirected, never unpacked. What happened comes back as a value; a call
// never throws for what the other side does.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type dns from 'node:dns';
import type { Socket } from 'node:net';
import { callbackify } from 'node:util';
import type { Agent, buildConnector } from 'undici';
import { BlockedTarget, isLiteral, parseTarget, requireAllowedAddress, requireOpenedAddress, type AllowList } from './address-guard.ts';
import { Exchange, TimedOut, TooLarge } from './exchange.ts';
import { lately } from './lately.ts';
import { resolveName, type ResolveName } from './resolve-name.ts';

export type OutboundLimits = { connectMs: number; totalMs: number; readBytes: number; keptBytes: number };
export const outboundLimits: OutboundLimits = { connectMs: 5_000, totalMs: 20_000, readBytes: 64 * 1024, keptBytes: 16 * 1024 };

/**
 * `totalMs`: a shorter limit than the usual one. `secret`: the body carries a secret, so that plain http goes only to addresses inside
 * OUTBOUND_ALLOW.
 */
export type OutboundCall = {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: Uint8Array | null;
  totalMs?: number | undefined;
  secret?: boolean;
};

/** Where the time went, in milliseconds; a connection that was kept open has no first three. */
export type Timings = { dns?: number; connect?: number; tls?: number; firstByte?: number; total: number };

export const errorClasses = [
  'invalid_url',
  'blocked_address',
  'plain_http',
  'dns_error',
  'connection_refused',
  'connection_reset',
  'network_unreachable',
  'connect_timeout',
  'timeout',
  'tls_error',
  'protocol_error',
  'body_too_large',
  'network_error',
] as const;
export type ErrorClass = (typeof errorClasses)[number];

export type OutboundResult = {
  status: number | undefined;
  headers: Record<string, string>;
  /** As much of the answer as is kept. */
  response: Buffer;
  error: { class: ErrorClass; message: string } | undefined;
  address: string | undefined;
  timings: Timings;
};

export type Outbound = { call(call: OutboundCall): Promise<OutboundResult>; close(): Promise<void> };

/** Where a connection leads, and how long it took to open; told to the first call that uses it. */
type Reached = { address: string | undefined; phases: Pick<Timings, 'dns' | 'connect' | 'tls'> };

/** The rule that every literal, resolved and connected address is held against. */
type RequireAddress = (address: string, allowed: AllowList) => void;

const connectionsPerOrigin = 16;
const mostTargets = 1_000;
const findTarget = lately(parseTarget, mostTargets);
const kept: Reached['phases'] = {};

export function createOutbound(allowed: AllowList, limits: OutboundLimits = outboundLimits, resolve: ResolveName = resolveName): Outbound {
  const sockets = new WeakMap<Socket, Reached>();
  let begins: Reached | undefined;
  const opened = new Map<RequireAddress, Promise<Agent>>();
  const agents = new Map<RequireAddress, Agent>();

  /** Opens the agent with the first call, and loads the library with it: 14 MB, which a service that calls nobody does not need. */
  async function openAgent(requireAddress: RequireAddress): Promise<Agent> {
    const { Agent, buildConnector } = await import('undici');
    return new Agent({
      connect: guardedConnect(buildConnector, (address) => requireAddress(address, allowed), limits, sockets, resolve),
      connections: connectionsPerOrigin,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: 16 * 1024,
    });
  }

  /** Which connection a request goes out on is told by undici here only, right after it said that the request begins. */
  const onSent = (message: unknown) => {
    const reached = sockets.get((message as { socket: Socket }).socket);
    if (!begins || !reached) return;
    begins.address = reached.address;
    begins.phases = reached.phases;
    reached.phases = kept;
    begins = undefined;
  };
  subscribe('undici:client:sendHeaders', onSent);

  /** A connection that was opened under one rule is never used under the other, so each rule has an agent of its own. */
  async function findAgent(requireAddress: RequireAddress): Promise<Agent> {
    const ready = agents.get(requireAddress);
    if (ready) return ready;
    const opening = opened.get(requireAddress) ?? openAgent(requireAddress);
    opened.set(requireAddress, opening);
    agents.set(requireAddress, await opening);
    return opening;
  }

  async function call({ method, url, headers, body, totalMs = limits.totalMs, secret = false }: OutboundCall): Promise<OutboundResult> {
    const rule = secret && /^http:/i.test(url) ? requireOpenedAddress : requireAllowedAddress;
    const open = agents.get(rule) ?? (await findAgent(rule));
    return new Promise((tell) => {
      const started = performance.now();
      const reached: Reached = { address: undefined, phases: kept };
      const exchange = new Exchange({ ...limits, totalMs }, () => (begins = reached), () => {
        const { status, headers: answered, response, error, firstByteAt } = exchange;
        tell({
          status,
          headers: answered,
          response,
          error: error && classify(error),
          address: reached.address,
          timings: { ...reached.phases, ...(firstByteAt === undefined ? {} : { firstByte: firstByteAt - started }), total: performance.now() - started },
        });
      });
      try {
        const { origin, path } = findTarget(url);
        open.dispatch({ origin, path, method: method as 'GET' | 'POST', headers: { 'accept-encoding': 'identity', ...headers }, body }, exchange);
      } catch (error) {
        exchange.end(error as Error);
      }
    });
  }

  return {
    call,
    async close() {
      unsubscribe('undici:client:sendHeaders', onSent);
      await Promise.all([...opened.values()].map((opening) => opening.then((agent) => agent.destroy(), () => {})));
    },
  };
}

function guardedConnect(
  build: typeof buildConnector,
  requireAddress: (address: string) => void,
  limits: OutboundLimits,
  sockets: WeakMap<Socket, Reached>,
  resolve: ResolveName,
): buildConnector.connector {
  const resolveAllowed = callbackify(async (name: string) => {
    const addresses = await resolve(name);
    for (const { address } of addresses) requireAddress(address);
    return addresses;
  });
  return (options, callback) => {
    const started = performance.now();
    let [resolved, opened, connected] = [0, 0, 0];
    const lookup: typeof dns.lookup = ((
      name: string,
      how: dns.LookupAllOptions,
      done: (error: Error | null, addresses?: dns.LookupAddress[] | string, family?: number) => void,
    ) => {
      resolveAllowed(name, (refusal: Error | null, addresses: dns.LookupAddress[]) => {
        resolved = performance.now();
        if (refusal) done(refusal);
        else if (how.all) done(null, addresses);
        else done(null, addresses[0]?.address ?? '', addresses[0]?.family ?? 4);
      });
    }) as typeof dns.lookup;
    const hostname = options.hostname.replace(/^\[|\]$/g, '');
    try {
      if (isLiteral(hostname)) requireAddress(hostname);
    } catch (refusal) {
      callback(refusal as Error, null);
      return;
    }
    const connector = build({ timeout: limits.connectMs, lookup, allowH2: false, autoSelectFamily: true });
    const opening: unknown = connector(options, (error, socket) => {
      if (error) {
        callback(error, null);
        return;
      }
      connected = performance.now();
      socket.once('error', (fault) => socket.destroy(fault));
      try {
        requireAddress(socket.remoteAddress ?? '');
      } catch (refusal) {
        socket.destroy();
        callback(refusal as Error, null);
        return;
      }
      const phases = {
        dns: (resolved || started) - started,
        connect: opened - (resolved || started),
        ...(options.protocol === 'https:' ? { tls: connected - opened } : {}),
      };
      sockets.set(socket, { address: socket.remoteAddress, phases });
      callback(null, socket);
    });
    (opening as Socket).prependOnceListener('connect', () => (opened = performance.now()));
  };
}

const byCode: Record<string, ErrorClass> = {
  ENOTFOUND: 'dns_error',
  EAI_AGAIN: 'dns_error',
  EAI_FAIL: 'dns_error',
  ENODATA: 'dns_error',
  ECONNREFUSED: 'connection_refused',
  ECONNRESET: 'connection_reset',
  EPIPE: 'connection_reset',
  UND_ERR_SOCKET: 'connection_reset',
  ENETUNREACH: 'network_unreachable',
  EHOSTUNREACH: 'network_unreachable',
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  ETIMEDOUT: 'connect_timeout',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'protocol_error',
  UND_ERR_HEADERS_OVERFLOW: 'protocol_error',
};

function classify(error: unknown): { class: ErrorClass; message: string } {
  const given = error as Error & { code?: string; errors?: (Error & { code?: string })[] };
  const cause = given.errors?.[0] ?? given;
  const message = cause.message || String(cause);
  if (given instanceof BlockedTarget) return { class: given.reason, message };
  if (given instanceof TimedOut) return { class: 'timeout', message };
  if (given instanceof TooLarge) return { class: 'body_too_large', message: 'the answer is larger than is read' };
  const code = cause.code ?? '';
  if (code === 'UND_ERR_SOCKET' && message.startsWith('bad ')) return { class: 'protocol_error', message: `${message}: an unasked 100 or 101` };
  if (byCode[code]) return { class: byCode[code], message };
  if (code.startsWith('HPE_') || given.name === 'HTTPParserError') return { class: 'protocol_error', message };
  if (/^(ERR_TLS|ERR_SSL|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO|EPROTO|HOSTNAME_)/.test(code))
    return {
      class: 'tls_error',
      message: (cause as { reason?: string }).reason && code.startsWith('ERR_SSL') ? String((cause as { reason?: string }).reason) : message,
    };
  return { class: 'network_error', message };
}
