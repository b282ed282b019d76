// Loaded first in every process of the suite: a name that the hosts file does not contain does not exist, because tests send no traffic to other
// addresses, name servers included. A test may give its resolvers a name server on loopback.
import { Resolver } from 'node:dns/promises';

const isOnLoopback = (server: string) => server.startsWith('127.') || server.startsWith('[::1]');

function onLoopbackOnly<T>(resolve: (this: Resolver, name: string) => Promise<T>) {
  return async function resolveHere(this: Resolver, name: string): Promise<T> {
    if (this.getServers().every(isOnLoopback)) return resolve.call(this, name);
    throw Object.assign(new Error(`ENOTFOUND ${name}: tests ask no name servers`), { code: 'ENOTFOUND' });
  };
}

const { resolve4, resolve6 } = Resolver.prototype;
Object.assign(Resolver.prototype, { resolve4: onLoopbackOnly(resolve4), resolve6: onLoopbackOnly(resolve6) });
