// In charge of a sync() process that tests can lose: it keeps a copy like any other application, writes what it is told into
// a file, and kills itself before the step that it is told: a statement, a request, or a call of its listener.
import { appendFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { createClient, sync } from '../client/src/index.ts';
import { pgStore } from '../client/src/stores/pg.ts';
import { sqliteStore } from '../client/src/stores/sqlite.ts';

const text = { type: 'string', default: '' } as const;
const { values: told } = parseArgs({
  options: { url: text, rp: text, id: text, estab: text, secret: text, file: text, database: text, prefix: text, told: text, step: text, page: text },
});
let steps = 0;

function step(): void {
  steps += 1;
  if (steps === Number(told.step)) process.kill(process.pid, 'SIGKILL');
}

function openFile() {
  const db = new DatabaseSync(told.file);
  return sqliteStore({
    exec(sql) {
      step();
      db.exec(sql);
    },
    prepare(sql) {
      step();
      return db.prepare(sql);
    },
  });
}

async function openDatabase() {
  const client = new pg.Client(told.database);
  await client.connect();
  return pgStore({
    query(sql, values) {
      step();
      return client.query(sql, values);
    },
  }, { prefix: told.prefix });
}

const client = createClient({
  url: told.url,
  rp: told.rp,
  fetch(url, init) {
    step();
    return fetch(url, init);
  },
});
await sync({
  roster: told.id === '' ? client.school({ estab: told.estab, secret: told.secret }).roster : client.roster({ clientId: told.id, clientSecret: told.secret }),
  store: told.file === '' ? await openDatabase() : openFile(),
  pageSize: Number(told.page),
  guard: { allow: true },
  onChange(changes) {
    step();
    appendFileSync(told.told, `${JSON.stringify(changes)}\n`);
    step();
  },
});
process.kill(process.pid, 'SIGKILL');
