// In charge of how a statement is written: a tag that binds every value and takes other statements as parts of itself.
// A statement runs when it is awaited; put into another one, it is a piece of that.
import type { Readable, Writable } from 'node:stream';

export type Row = Record<string, unknown>;
/** The rows of an answer, what the command was, and how many rows it was about. */
export type Rows<T extends readonly unknown[]> = T & { readonly count: number; readonly command: string };

/** What goes to the server. */
export type Composed = { text: string; values: readonly BoundValue[] };
export type BoundValue = string | Buffer | null | readonly unknown[];

/** Where a statement runs: on any connection of a pool, or on the one of a transaction. */
export type Runner = {
  run(statement: Composed): Promise<Rows<Row[]>>;
  cursor(statement: Composed, rowsAtOnce: number): AsyncGenerator<Row[]>;
  copyIn(statement: Composed): Promise<Writable>;
  copyOut(statement: Composed): Promise<Readable>;
};

/** A piece of a statement with its bound values. */
export type Fragment = Statement<readonly unknown[]>;

export type Sql = {
  <T extends readonly unknown[] = Row[]>(strings: TemplateStringsArray, ...values: readonly unknown[]): Statement<T>;
  /** A name, or names with commas between them, quoted. */
  (name: string | readonly string[]): Fragment;
  /** Text as it is, of any number of commands; never of anybody's making but ours. */
  unsafe<T extends readonly unknown[] = Row[]>(text: string): Statement<T>;
  /** A value as jsonb. */
  json(value: unknown): Fragment;
};

type Part = { text: string } | { value: BoundValue };

export class Statement<T extends readonly unknown[]> implements Promise<Rows<T>> {
  readonly [Symbol.toStringTag] = 'Statement';
  readonly #runner: Runner;
  readonly #parts: readonly Part[];
  /** The text of a statement that has no other statements in it is always the same. */
  readonly #fixed: string | undefined;
  #running: Promise<Rows<T>> | undefined;

  constructor(runner: Runner, parts: readonly Part[], fixed?: string) {
    this.#runner = runner;
    this.#parts = parts;
    this.#fixed = fixed;
  }

  get parts(): readonly Part[] {
    return this.#parts;
  }

  /** Runs it, once however often it is awaited. */
  // oxlint-disable-next-line unicorn/no-thenable -- to be awaited is what a statement is for
  then<A = Rows<T>, B = never>(
    whenDone?: ((rows: Rows<T>) => A | PromiseLike<A>) | null,
    whenFailed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#running ??= this.#runner.run(this.compose()) as unknown as Promise<Rows<T>>;
    return this.#running.then(whenDone, whenFailed);
  }

  catch<B = never>(whenFailed?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<Rows<T> | B> {
    return this.then(undefined, whenFailed);
  }

  finally(whenEnded?: (() => void) | null): Promise<Rows<T>> {
    return this.then(undefined, undefined).finally(whenEnded);
  }

  /** The rows in batches, fetched as they are asked for. */
  cursor(rowsAtOnce: number): AsyncGenerator<T[number][]> {
    return this.#runner.cursor(this.compose(), rowsAtOnce) as AsyncGenerator<T[number][]>;
  }

  /** For `copy … from stdin`. */
  writable(): Promise<Writable> {
    return this.#runner.copyIn(this.compose());
  }

  /** For `copy … to stdout`. */
  readable(): Promise<Readable> {
    return this.#runner.copyOut(this.compose());
  }

  compose(): Composed {
    const values: BoundValue[] = [];
    let text = '';
    for (const part of this.#parts) {
      if ('value' in part) values.push(part.value);
      if (this.#fixed === undefined) text += 'value' in part ? `$${values.length}` : part.text;
    }
    return { text: this.#fixed ?? text, values };
  }
}

/** The tag of a pool, a connection or a transaction. */
export function createSql(runner: Runner): Sql {
  const tag = (first: TemplateStringsArray | string | readonly string[], ...values: readonly unknown[]) => {
    if (typeof first === 'string') return new Statement(runner, [{ text: quoteName(first) }]);
    if (!('raw' in first)) return new Statement(runner, [{ text: first.map(quoteName).join(', ') }]);
    return new Statement(runner, partsOf(first, values), values.some((value) => value instanceof Statement) ? undefined : fixedText(first));
  };
  return Object.assign(tag as Pick<Sql, never> & Sql, {
    unsafe: (text: string) => new Statement<never>(runner, [{ text }]),
    json: (value: unknown) => new Statement(runner, [{ value: JSON.stringify(value) }, { text: '::jsonb' }]),
  });
}

function partsOf(strings: TemplateStringsArray, values: readonly unknown[]): Part[] {
  const parts: Part[] = [{ text: strings[0] ?? '' }];
  for (const [at, value] of values.entries()) {
    if (value instanceof Statement) parts.push(...value.parts);
    else parts.push({ value: toValue(value) });
    parts.push({ text: strings[at + 1] ?? '' });
  }
  return parts;
}

const fixedTexts = new WeakMap<TemplateStringsArray, string>();

function fixedText(strings: TemplateStringsArray): string {
  let text = fixedTexts.get(strings);
  if (text === undefined) {
    text = strings.reduce((all, part, at) => `${all}$${at}${part}`);
    fixedTexts.set(strings, text);
  }
  return text;
}

function toValue(value: unknown): BoundValue {
  if (typeof value === 'string' || value === null) return value;
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (Array.isArray(value)) return value.map((one) => (one instanceof Date ? one.toISOString() : (one as unknown)));
  throw new TypeError(`${value === undefined ? 'undefined' : `a ${typeof value}`} cannot be bound to a statement`);
}

function quoteName(name: string): string {
  return name.split('.').map((part) => `"${part.replaceAll('"', '""')}"`).join('.');
}
