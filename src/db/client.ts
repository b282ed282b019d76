// In charge of the driver's client: connected to wherever the server is at that moment, and never an end of the process.
import type { Socket } from 'node:net';
import pg from 'pg';

/** The driver's client, connected to wherever the server is at that moment. Its errors between statements end it, and nobody else. */
export function clientClass(address: () => string, clients: Set<pg.Client>): typeof pg.Client {
  return class extends pg.Client {
    constructor(options: pg.ClientConfig) {
      super({ ...options, connectionString: address() });
      clients.add(this);
      this.once('end', () => clients.delete(this));
      this.on('error', () => {});
    }
  };
}

export function socketOf(client: pg.Client): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}
