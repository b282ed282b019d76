// Covers a sync() that dies: at every step of it, between and within the transactions of its store. The next run goes on, the
// copy is then the roster, and whoever listens has been told everything at least once and in order.
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { createFate, createListener, Died, openRoster, readActive, readCopy, rememberAnswers, type Fate } from '../../test/roster-copy.ts';
import { enrolment, smallPackage, smallSchool, user } from '../../test/small-school.ts';
import { useService } from '../../test/service.ts';
import { sync, type Store } from './index.ts';
import { memoryStore } from './stores/memory.ts';
import { sqliteStore, type SqliteHandle } from './stores/sqlite.ts';

const folder = mkdtempSync(join(tmpdir(), 'schoolbell-crash-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const service = await useService();
const estab = 'crash';
await service.addSchool(estab, smallPackage());
const client = await service.addClient('app', [estab], 'School,Student,Staff,Contact');
const answers = rememberAnswers();
const roster = openRoster(service.url, client, estab, answers.fetching);
const pageSize = 5;
const never = Infinity;

const states: Parameters<typeof smallPackage>[0][] = [
  {
    users: [...smallSchool.users.filter(({ sourcedId }) => sourcedId !== 's2' && sourcedId !== 'p1'), user('p4', 'student'), user('p1', 'student')],
    enrollments: [...smallSchool.enrollments.filter((row) => row.sourcedId !== 'e7'), enrolment('e9', 'p4', 'k1')],
  },
  { users: [...smallSchool.users, user('p5', 'student')] },
];

/** A copy in a file, as processes have it that may die between any two statements; what they had not committed is gone then. */
let files = 0;
function openFile(of?: string) {
  const file = join(folder, `${(files += 1)}.db`);
  if (of !== undefined) copyFileSync(of, file);
  const connect = () => {
    const opened = new DatabaseSync(file);
    // Nothing here ends the machine.
    opened.exec('pragma synchronous = off');
    return opened;
  };
  let handle = connect();
  return {
    open({ step }: Fate): Store {
      const mortal: SqliteHandle = {
        exec(text) {
          step();
          return handle.exec(text);
        },
        prepare(text) {
          const statement = handle.prepare(text);
          const stepping = <T>(does: (...values: never[]) => T) => (...values: never[]) => {
            step();
            return does.apply(statement, values);
          };
          return { all: stepping(statement.all), run: stepping(statement.run) };
        },
      };
      return sqliteStore(mortal);
    },
    /** As it is left by a process that is gone. */
    leave() {
      handle.close();
      handle = connect();
    },
    expire() {
      const made = handle.prepare("select 1 from sqlite_master where name = 'schoolbell_state'").get();
      if (made) handle.exec('update schoolbell_state set until = 0');
    },
    clone: () => openFile(file),
    close: () => handle.close(),
  };
}
type Copy = ReturnType<typeof openFile>;

/** Dies at the step; gives whether it came to that. */
async function dies(copy: Copy, fate: Fate, listener: ReturnType<typeof createListener>): Promise<boolean> {
  const died = await sync({ roster, store: copy.open(fate), pageSize, onChange: listener.onChange }).then(() => false, (error: unknown) => {
    if (error instanceof Died) return true;
    throw error;
  });
  copy.leave();
  return died;
}

async function load(state: Parameters<typeof smallPackage>[0]): Promise<Awaited<ReturnType<typeof readActive>>> {
  assert.ok(['done', 'unchanged'].includes((await service.load(estab, smallPackage(state), { approve: true })).outcome));
  answers.forget();
  return readActive((path) => client.b(estab, path));
}

type Scene = { updates: boolean; movesOn: boolean };
/** A first copy; and bringing one up to date, with a roster that moves on between the death and the next run. */
const scenes: Scene[] = [{ updates: false, movesOn: false }, { updates: true, movesOn: true }];

test('a sync() may die before any statement of its store', async () => {
  let deaths = 0;
  for (const { updates, movesOn } of scenes) {
    /** Copies that are about to be made, or brought up to date; and what they are to be then. */
    const prepare = async (many: number) => {
      let roster = await load({});
      const [first, heard] = [openFile(), createListener()];
      if (updates) assert.equal(await dies(first, createFate(never), heard), false);
      const prepared = Array.from({ length: many }, () => ({ copy: first.clone(), listener: createListener(heard.told) }));
      if (updates) roster = await load(states[0]);
      return { prepared, roster };
    };
    const counting = createFate(never);
    for (const { copy, listener } of (await prepare(1)).prepared) await dies(copy, counting, listener);
    let { prepared, roster } = await prepare(counting.steps());
    for (const [at, { copy, listener }] of prepared.entries()) if (await dies(copy, createFate(at + 1), listener)) deaths += 1;
    if (movesOn) roster = await load(states[1]);
    for (const [at, { copy, listener }] of prepared.entries()) {
      copy.expire();
      assert.equal(await dies(copy, createFate(never), listener), false);
      assert.deepEqual(await readCopy(copy.open(createFate(never))), roster, `died at ${at + 1}`);
      assert.deepEqual(listener.replayed(), roster, `told, died at ${at + 1}`);
      copy.close();
    }
  }
  assert.ok(deaths > 200, `${deaths} deaths`);
});

test('what was read before is not read again', async () => {
  await load({});
  const copy = openFile();
  const whole = await sync({ roster, store: memoryStore(), pageSize });
  await dies(copy, createFate(60), createListener());
  copy.expire();
  const asked: string[] = [];
  const counted = openRoster(service.url, client, estab, (url, init) => {
    asked.push(url);
    return fetch(url, init);
  });
  const { read, version } = await sync({ roster: counted, store: copy.open(createFate(never)), pageSize });
  assert.deepEqual([read, version], [whole.read, whole.version]);
  const pages = asked.filter((url) => url.includes(`limit=${pageSize}`));
  assert.ok(pages.length > 0 && pages.length < Math.ceil(whole.read / pageSize), `${pages.length} pages were read after the death`);
});
