// In charge of what the rest of the house sees of the database: a pool that runs statements, transactions, connections
// that somebody holds, and calls when something is notified.
import { createListener, type Listen } from './listen.ts';
import { policies, type PoolPolicy } from './policies.ts';
import { SessionPool, type PoolLoad } from './pool.ts';
import { Servers, type Where } from './servers.ts';
import { isStalePlan, type PooledSession } from './session.ts';
import { createSql, type Composed, type Runner, type Sql, type Statement } from './statement.ts';
import { isLost, isSilent } from './unavailable.ts';
import { command, runTogether, runTransaction, type Tx } from './transaction.ts';

export type { Fragment, Sql, Statement } from './statement.ts';
export type { Tx } from './transaction.ts';
export { Servers } from './servers.ts';
/** What is not said is as for a command, which may take its time. */
export type PoolOptions = Partial<PoolPolicy> & Pick<PoolPolicy, 'max' | 'name'>;

/** A connection that is held until it is released. */
export type Connection = Sql & { release(): void };

export type Db = Sql & {
  /** Work that reads from somewhere else can be done but once. */
  begin<T>(work: (tx: Tx) => Promise<T>, how?: { repeatable: boolean }): Promise<T>;
  /**
   * A transaction of these statements, sent at once: each sees what those before it did, but none can be given what they answered. Where all of
   * them only read there is none, and what lost its connection is asked again, as of a single one.
   */
  together<T extends readonly Statement<readonly unknown[]>[]>(...statements: T): Promise<{ [At in keyof T]: Awaited<T[At]> }>;
  reserve(): Promise<Connection>;
  listen: Listen;
  /** Calls when another server has taken over, for as long as the process lives: what was remembered of versions may be of ones that it does not have. */
  onMoved(call: () => void): void;
  end(how?: { timeout: number }): Promise<void>;
  readonly policy: PoolPolicy;
  load(): PoolLoad;
};

const longestEndSeconds = 5;
/** What took longer is not begun again: whoever waits for it is told before it would end. */
const longestBeforeAgainMs = 5_000;
/** Outside a transaction: what it may do besides, such as notify, does no harm when it is done twice. */
const onlyReads = /^\s*select\b/i;

export function connect(where: string | Where | Servers, options: PoolOptions): Db {
  const policy: PoolPolicy = { ...policies.commands, ...options };
  const servers = where instanceof Servers ? where : new Servers(typeof where === 'string' ? () => [where] : where);
  const pool = new SessionPool(servers, policy);
  const listener = createListener(servers, policy);

  async function withSession<T>(work: (session: PooledSession) => Promise<T>): Promise<T> {
    const session = await pool.take();
    try {
      return await work(session);
    } finally {
      pool.give(session);
    }
  }

  const runOnce = (statement: Composed) => withSession(async (session) => {
    try {
      return await session.run(statement);
    } catch (error) {
      if (!isStalePlan(error)) throw error;
      await session.forget(statement);
      return session.run(statement);
    }
  });

  // Who does not wait for a server that is away does not wait for one that says nothing, either.
  const isGone = (error: unknown) => isLost(error) || (policy.awayMs > 0 && isSilent(error));

  const runner: Runner = {
    run: (statement) => againIfLost(() => runOnce(statement), (error) => isGone(error) && onlyReads.test(statement.text)),
    async *cursor(statement, rowsAtOnce) {
      const session = await pool.take();
      try {
        await session.run(command('begin'));
        yield* session.cursor(statement, rowsAtOnce);
      } finally {
        await session.run(command('rollback')).catch(() => {});
        pool.give(session);
      }
    },
    copyIn: onlyOnConnection,
    copyOut: onlyOnConnection,
  };

  return Object.assign(createSql(runner), {
    policy,
    load: () => pool.load(),
    begin<T>(work: (tx: Tx) => Promise<T>, { repeatable } = { repeatable: true }): Promise<T> {
      return againIfLost(() => withSession((session) => runTransaction(session, work, repeatable)), (error) => isGone(error) && repeatable);
    },
    together<T extends readonly Statement<readonly unknown[]>[]>(...statements: T) {
      const composed = statements.map((statement) => statement.compose());
      const onlyRead = composed.every(({ text }) => onlyReads.test(text));
      const once = () => withSession((session) => runTogether(session, composed, onlyRead));
      return againIfLost(once, (error) => isGone(error) && onlyRead) as Promise<never>;
    },
    async reserve() {
      const session = await pool.take();
      let held = true;
      const open = (): PooledSession => {
        if (!held) throw new Error('the connection was released');
        return session;
      };
      const onConnection: Runner = {
        run: async (statement) => open().run(statement),
        cursor: (statement, rowsAtOnce) => open().cursor(statement, rowsAtOnce),
        copyIn: async (statement) => open().copyIn(statement),
        copyOut: async (statement) => open().copyOut(statement),
      };
      return Object.assign(createSql(onConnection), {
        release() {
          if (held) pool.give(session);
          held = false;
        },
      });
    },
    listen: listener.listen,
    onMoved: (call: () => void) => servers.onMoved(call),
    async end({ timeout } = { timeout: longestEndSeconds }) {
      await Promise.all([listener.close(), pool.end(timeout * 1000)]);
    },
  });
}

/** What was lost with its connection was not done: another server may have taken over, or is about to. */
export async function againIfLost<T>(work: () => Promise<T>, isRepeatable: (error: unknown) => boolean = isLost): Promise<T> {
  const begun = performance.now();
  try {
    return await work();
  } catch (error) {
    if (!isRepeatable(error) || performance.now() - begun > longestBeforeAgainMs) throw error;
    return work();
  }
}

async function onlyOnConnection(): Promise<never> {
  throw new Error('a COPY needs a transaction or a reserved connection');
}
