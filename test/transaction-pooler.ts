// In charge of a pooler in transaction mode, as operators put between a service and PostgreSQL: few connections to the
// server, each lent to whoever begins a transaction, until that ends.
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { after } from 'node:test';
import pg from 'pg';
import { socketOf } from '../src/db/client.ts';

const sslRequest = 80_877_103;
const ready = Buffer.from('Z\0\0\0\x05I', 'latin1');
const welcome = Buffer.concat([Buffer.from('R\0\0\0\x08\0\0\0\0', 'latin1'), Buffer.from('S\0\0\0\x19client_encoding\0UTF8\0', 'latin1'), ready]);

/** The same database by way of the pooler. */
export async function useTransactionPooler(url: string, connections: number): Promise<string> {
  const servers = await Promise.all(Array.from({ length: connections }, () => openServer(url)));
  const idle = [...servers];
  const waiting: ((server: Socket) => void)[] = [];

  function giveBack(server: Socket): void {
    const next = waiting.shift();
    if (next) next(server);
    else idle.push(server);
  }

  function serve(client: Socket): void {
    let started = false;
    let server: Socket | undefined;
    let pending: Buffer[] = [];
    const send = () => {
      for (const bytes of pending) server?.write(bytes);
      pending = [];
    };
    const lend = (lent: Socket) => {
      server = lent;
      const answer = (bytes: Buffer) => {
        client.write(bytes);
        if (!bytes.subarray(-ready.length).equals(ready)) return;
        lent.off('data', answer);
        server = undefined;
        giveBack(lent);
      };
      lent.on('data', answer);
      send();
    };
    client.on('error', () => {}).on('data', (bytes: Buffer) => {
      if (!started && bytes.readInt32BE(4) === sslRequest) {
        client.write('N');
      } else if (!started) {
        started = true;
        client.write(welcome);
      } else if (bytes[0] === 'X'.charCodeAt(0)) {
        client.end();
      } else {
        pending.push(bytes);
        if (server) send();
        else if (pending.length === 1) {
          const free = idle.pop();
          if (free) lend(free);
          else waiting.push(lend);
        }
      }
    });
  }

  const listening = createServer(serve).listen(0, '127.0.0.1');
  await new Promise((resolve) => listening.once('listening', resolve));
  after(() => {
    listening.close();
    for (const server of servers) server.destroy();
  });
  const through = new URL(url);
  through.port = String((listening.address() as AddressInfo).port);
  return through.href;
}

/** A connection that has been let in; from here on its bytes are handed on. */
async function openServer(url: string): Promise<Socket> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  const socket = socketOf(client);
  socket.removeAllListeners('data');
  return socket;
}
