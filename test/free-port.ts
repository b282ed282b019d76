// In charge of ports for tests: below those that systems hand out by themselves, and each process has a range of its own, which it
// holds by listening on the last one: a port that is found free must stay so until it is listened on.
import { createServer, type Server } from 'node:net';

const [lowest, ranges, portsEach] = [20_000, 120, 100];
let range: Promise<{ first: number; given: number }> | undefined;

export async function freePort(): Promise<number> {
  const own = await (range ??= claimRange());
  const port = own.first + (own.given++ % (portsEach - 1));
  const probe = await listen(port);
  if (!probe) return freePort();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

async function claimRange(): Promise<{ first: number; given: number }> {
  for (let tries = 0; tries < ranges; tries += 1) {
    const first = lowest + ((process.pid + tries) % ranges) * portsEach;
    const held = await listen(first + portsEach - 1);
    if (!held) continue;
    held.unref();
    return { first, given: 0 };
  }
  throw new Error(`all ports from ${lowest} to ${lowest + ranges * portsEach} are taken by other tests`);
}

/** Undefined where somebody listens already. */
function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
