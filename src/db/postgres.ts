// In charge of the PostgreSQL driver, with faults mended as it is loaded. In postgres 3.4.9 a statement on a reserved
// connection whose server side has died throws where nothing can catch it and ends the process, or never settles;
// what the dead connection was in the middle of is taken for the answer to the first statement after it reconnects;
// and the rest of a transaction runs on the new connection, outside any transaction. (Upstream: issues 1154 and 1208,
// pull request 1168.) The version is pinned; loading fails if a place to mend is not found.
import { registerHooks } from 'node:module';

type Mend = { file: string; find: string; put: string };

const connection = '/postgres/src/connection.js';
const index = '/postgres/src/index.js';

const mends: readonly Mend[] = [
  // A statement on a connection that is closed is rejected.
  {
    file: connection,
    find: 'if (terminated)\n      return queryError',
    put: "if (!socket) {\n      queryError(q, Errors.connection('CONNECTION_CLOSED', options))\n      return true\n    }\n    if (terminated)\n      return queryError",
  },
  // A connection that closes forgets what it was in the middle of.
  { file: connection, find: 'socket.removeAllListeners()\n    socket = null', put: 'socket.removeAllListeners()\n    socket = chunk = nextWriteTimer = errorResponse = results = null\n    result = new Result()' },
  { file: connection, find: 'closedTime = performance.now()', put: 'query = null\n    closedTime = performance.now()' },
  // A connection that dies while it learns about types is just closed; nobody waits for what it was learning.
  { file: connection, find: 'return fetchArrayTypes()', put: 'return void fetchArrayTypes().catch(() => {})' },
  // Small writes go out at once: the two that begin and end a COPY would otherwise wait 40 ms each for the other side.
  { file: connection, find: "socket.on('data', data)\n      keep_alive", put: "socket.on('data', data)\n      socket.setNoDelay && socket.setNoDelay(true)\n      keep_alive" },
  // A reservation and a transaction end with their connection, even when the pool has opened it anew since.
  { file: index, find: 'c.reserved.release = true', put: 'c.reserved.release = true\n    const mine = c.reserved' },
  { file: index, find: 'c.reserved = null\n      onopen(c)', put: 'if (c.reserved !== mine)\n        return\n      c.reserved = null\n      onopen(c)' },
  {
    file: index,
    find: 'function handler(q) {\n      c.queue === full\n        ? queue.push(q)',
    put: "function handler(q) {\n      if (c.reserved !== mine)\n        return q.reject(Errors.connection('CONNECTION_CLOSED', options))\n      c.queue === full\n        ? queue.push(q)",
  },
  { file: index, find: ', prepare = null\n\n', put: ', prepare = null\n      , gone = null\n\n' },
  { file: index, find: 'connection.onclose = reject)', put: 'connection.onclose = e => reject(gone = e))' },
  { file: index, find: 'uncaughtError = e))\n        c.queue', put: 'uncaughtError = e))\n        if (gone)\n          return q.reject(gone)\n        c.queue' },
];

const hooks = registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const due = mends.filter((mend) => url.endsWith(mend.file));
    if (due.length === 0) return loaded;
    return { ...loaded, source: due.reduce(applyMend, Buffer.from(loaded.source as Uint8Array).toString()) };
  },
});

function applyMend(source: string, { file, find, put }: Mend): string {
  if (source.split(find).length !== 2) throw new Error(`${file} is not the version that src/db/postgres.ts mends`);
  return source.replace(find, put);
}

const { default: postgres } = await import('postgres');
hooks.deregister();

export { postgres };
