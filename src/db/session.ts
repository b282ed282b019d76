// In charge of one connection: statements one after the other, each with an end. What does not come back in time is given
// up together with its connection, whose state nobody knows any more.
import { createHash } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import type { Readable, Writable } from 'node:stream';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { socketOf } from './client.ts';
import type { PoolPolicy } from './policies.ts';
import type { Composed, Row, Rows, Runner } from './statement.ts';
import { DatabaseUnavailable, isServerError, sqlStates } from './unavailable.ts';

/** Whoever wants to see which statements are executed; the tests do. */
const executed = channel('schoolbell:statement');

type Named = Readonly<{ name: string; text: string }>;

/**
 * A statement's name is made once, and its text is the same string for every connection, each of which holds on to it. Composed ones
 * differ without end where filters are, and those are not named.
 */
const known = new Map<string, Named>();
const mostCharacters = 4 * 1024 ** 2;
let characters = 0;
let cursors = 0;
/** By an operator, a crash or a start, rather than for what the connection itself did. */
const serverEnds = /^57P0[123]$/;
/** What the server says of a node that it asked in turn. */
const nodeEnds = /^(57P0[123]|0800[01346])$/;
/** Citus gives what it was told by the network as an error of its own, and says where. */
const internalError = 'XX000';
const ofNode = /while executing command on|connection marked as essential/;

export class PooledSession implements Runner {
  readonly client: pg.Client;
  /** Whether the database lies on several nodes, as far as was known when the connection was opened. */
  readonly isSpread: boolean;
  readonly #policy: PoolPolicy;
  #last: Promise<unknown> = Promise.resolve();
  #running = 0;
  #broken: DatabaseUnavailable | undefined;
  /** The server takes no writes any more: the next connection may find one that does. */
  isReadOnly = false;

  constructor(client: pg.Client, policy: PoolPolicy, isSpread: boolean) {
    this.client = client;
    this.isSpread = isSpread;
    this.#policy = policy;
  }

  /** Whether the connection may be used again: nothing is under way on it, and no transaction open. */
  get usable(): boolean {
    return this.#broken === undefined && !this.isReadOnly && this.#running === 0 && this.transactionStatus !== 'T' && this.transactionStatus !== 'E';
  }

  /** Whether it ended, or was given up, under a statement. */
  get isLost(): boolean {
    return this.#broken !== undefined;
  }

  /** As the server said last: I, idle; T, in a transaction; E, in one that has failed. */
  get transactionStatus(): string | null {
    return (this.client as pg.Client & { getTransactionStatus(): string | null }).getTransactionStatus();
  }

  run(statement: Composed): Promise<Rows<Row[]>> {
    return this.#inTurn(() => this.#ask(statement, this.#named(statement)));
  }

  /**
   * One after the other, without waiting for the answers between: none can depend on what Node makes of those before it. After one that
   * failed inside a transaction the server refuses the others. Rejects with the first failure, when all have been answered. Each has its time
   * from the answer before it.
   */
  runAtOnce(statements: readonly Composed[]): Promise<Rows<Row[]>[]> {
    return this.#inTurn(async () => {
      const client = this.client as pg.Client & { pipeline: boolean };
      const socket = socketOf(client);
      client.pipeline = true;
      socket.cork();
      const late = this.#giveUpLater();
      const asked = statements.map((statement) => this.#ask(statement, this.#named(statement), late));
      socket.uncork();
      const answers = await Promise.allSettled(asked);
      clearTimeout(late);
      client.pipeline = false;
      return answers.map((answer) => {
        if (answer.status === 'rejected') throw answer.reason;
        return answer.value;
      });
    });
  }

  /** The same again after PostgreSQL has forgotten, or must forget, what it prepared under this name. */
  async forget({ text }: Composed): Promise<void> {
    const name = findNamed(text)?.name;
    if (name === undefined) return;
    const { parsedStatements } = (this.client as unknown as { connection: { parsedStatements: Record<string, string> } }).connection;
    delete parsedStatements[name];
    await this.run({ text: `deallocate "${name}"`, values: [] }).catch((error: unknown) => {
      if (!isServerError(error)) throw error;
    });
  }

  /** By cursors of SQL, in a transaction: each batch is a statement of its own, so that the server's limits hold between them too. */
  async *cursor({ text, values }: Composed, rowsAtOnce: number): AsyncGenerator<Row[]> {
    const name = `cursor_${(cursors += 1)}`;
    // Never the same again, and so without a name of its own, which the connection would keep.
    await this.#inTurn(() => this.#ask({ text: `declare ${name} no scroll cursor for ${text}`, values }));
    try {
      for (;;) {
        const rows = await this.run({ text: `fetch ${rowsAtOnce} from ${name}`, values: [] });
        if (rows.length > 0) yield rows;
        if (rows.length < rowsAtOnce) break;
      }
    } finally {
      await this.run({ text: `close ${name}`, values: [] }).catch(() => {});
    }
  }

  copyIn({ text }: Composed): Promise<Writable> {
    return this.#copy(text, () => this.client.query(copyFrom(text)));
  }

  copyOut({ text }: Composed): Promise<Readable> {
    return this.#copy(text, () => this.client.query(copyTo(text)));
  }

  /** Ends the connection at once; whatever was asked of it is rejected. */
  giveUp(reason: DatabaseUnavailable): void {
    this.#broken ??= reason;
    socketOf(this.client).destroy();
  }

  /** A COPY may take long; what must not stop for long is that bytes move. */
  #copy<T extends Readable | Writable>(text: string, begin: () => T): Promise<T> {
    if (executed.hasSubscribers) executed.publish({ text, pool: this.#policy.name });
    return new Promise((resolve, reject) => {
      void this.#inTurn(() => new Promise<void>((ended) => {
        if (this.#broken) {
          reject(this.#broken);
          ended();
          return;
        }
        let stream: T;
        try {
          stream = begin();
        } catch (error) {
          reject(error as Error);
          ended();
          return;
        }
        const stop = this.#watchBytes(stream);
        const end = () => {
          stop();
          ended();
        };
        // One that failed is not always closed by the driver; the connection is free again all the same.
        stream.once('close', end).once('error', end);
        resolve(stream);
      }));
    });
  }

  /** While it is the other side's turn: before it takes the first byte, while bytes wait for it, and after the last. */
  #watchBytes(stream: Readable | Writable): () => void {
    const socket = socketOf(this.client);
    const moved = () => socket.bytesWritten - socket.writableLength + socket.bytesRead;
    const begun = socket.bytesRead;
    const isServersTurn = () => {
      if (socket.writableLength > 0 || socket.bytesRead === begun || stream.destroyed) return true;
      return 'writableEnded' in stream && 'writableFinished' in stream ? stream.writableEnded && !stream.writableFinished : false;
    };
    let [bytes, since] = [moved(), performance.now()];
    const timer = setInterval(() => {
      if (moved() !== bytes || !isServersTurn()) [bytes, since] = [moved(), performance.now()];
      else if (performance.now() - since > this.#policy.answerMs) this.giveUp(silence(this.#policy));
    }, Math.min(1_000, this.#policy.answerMs / 4));
    return () => clearInterval(timer);
  }

  /** The driver takes one statement at a time. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#running > 0 ? this.#last : undefined;
    this.#running += 1;
    const done = (before ? before.then(work, work) : work()).finally(() => (this.#running -= 1));
    this.#last = done;
    return done;
  }

  #giveUpLater(): NodeJS.Timeout {
    return setTimeout(() => this.giveUp(silence(this.#policy)), this.#policy.answerMs);
  }

  /** common: of statements that are answered one after the other. */
  #ask({ text, values }: Composed, named?: Named, common?: NodeJS.Timeout): Promise<Rows<Row[]>> {
    if (executed.hasSubscribers) executed.publish({ text, pool: this.#policy.name });
    if (this.#broken) return Promise.reject(this.#broken);
    return new Promise((resolve, reject) => {
      const late = common ?? this.#giveUpLater();
      const query = { text, ...(values.length > 0 ? { values: values as unknown[] } : {}), ...named };
      this.client.query(query as pg.QueryConfig, (error: Error | undefined, answer: pg.QueryResult | pg.QueryResult[]) => {
        if (common) common.refresh();
        else clearTimeout(late);
        if (error) reject(this.#explain(error));
        else resolve(toRows(Array.isArray(answer) ? answer.at(-1) : answer));
      });
    });
  }

  #named({ text, values }: Composed): Named | undefined {
    return this.#policy.plans === 'made' || values.length === 0 ? undefined : findNamed(text);
  }

  /** What the server did not say itself is about the connection. */
  #explain(error: Error): Error {
    if (isServerError(error)) {
      if (error.code === sqlStates.readOnly) this.isReadOnly = true;
      // The last word of a connection that the server is about to close; without that it is about one to another node.
      if (!/^(FATAL|PANIC)$/.test((error as Error & { severity?: string }).severity ?? ''))
        return isOfNode(error) ? new DatabaseUnavailable('lost', `a node of the database went away: ${error.message}`, this.#about(error)) : error;
      this.#broken ??= new DatabaseUnavailable('lost', `the connection to the database was ended: ${error.message}`, this.#about(error));
      return serverEnds.test(error.code) ? this.#broken : error;
    }
    this.#broken ??= new DatabaseUnavailable('lost', `the connection to the database ended: ${error.message}`, this.#about(error));
    return this.#broken;
  }

  #about(cause: Error): { cause: Error; pool: string } {
    return { cause, pool: this.#policy.name };
  }
}

function isOfNode({ code, message, where = '' }: Error & { code: string; where?: string }): boolean {
  return nodeEnds.test(code) || (code === internalError && ofNode.test(`${message} ${where}`));
}

/** After a change of schema a kept plan may not be used any more, and behind a pooler a statement may be gone. Neither is the caller's concern. */
export function isStalePlan(error: unknown): boolean {
  if (!isServerError(error)) return false;
  return error.code === sqlStates.noSuchStatement || (error.code === sqlStates.featureNotSupported && error.message.startsWith('cached plan'));
}

function silence({ answerMs, name }: PoolPolicy): DatabaseUnavailable {
  return new DatabaseUnavailable('silent', `the database did not answer within ${answerMs / 1000} s (pool ${name})`, { pool: name });
}

/** Undefined: there are too many already. */
function findNamed(text: string): Named | undefined {
  let named = known.get(text);
  if (named === undefined && characters + text.length <= mostCharacters) {
    named = { name: createHash('sha256').update(text).digest('base64url').slice(0, 24), text };
    known.set(text, named);
    characters += text.length;
  }
  return named;
}

function toRows(answer: pg.QueryResult | undefined): Rows<Row[]> {
  const rows = (answer?.rows ?? []) as Row[];
  return Object.defineProperties(rows, { count: { value: answer?.rowCount ?? 0 }, command: { value: answer?.command ?? '' } }) as Rows<Row[]>;
}
