// Loaded first in every process of the suite: a name that the hosts file does not contain does not exist, because tests send no traffic to other
// addresses, name servers included. A test may give its resolvers a name server on loopback.
import { Resolver } from 'node:dns/promises';

const serversOf = (resolver: Resolver) => resolver.getServers().join();
/** The name servers of the machine. One on loopback would ask others. */
const ofMachine = serversOf(new Resolver());

function withoutMachine<T>(resolve: (this: Resolver, name: string) => Promise<T>) {
  return async function resolveHere(this: Resolver, name: string): Promise<T> {
    if (serversOf(this) !== ofMachine) return resolve.call(this, name);
    throw Object.assign(new Error(`ENOTFOUND ${name}: tests ask no name servers`), { code: 'ENOTFOUND' });
  };
}

const { resolve4, resolve6 } = Resolver.prototype;
Object.assign(Resolver.prototype, { resolve4: withoutMachine(resolve4), resolve6: withoutMachine(resolve6) });
