// In charge of what readers of one school have seen: whoever asks later never sees an earlier version.
import type { Answered, AskBook } from './ask-book.ts';

export class Seen {
  readonly #book: AskBook;
  readonly #estab: string;
  readonly #latest = { version: 0, number: 0 };

  constructor(book: AskBook, estab: string) {
    this.#book = book;
    this.#estab = estab;
  }

  /** Taken before asking; what is answered must not lie behind it. */
  before(): Readonly<{ version: number; number: number }> {
    return { ...this.#latest };
  }

  note(what: 'version' | 'number', found: number, before: { version: number; number: number }, where: string): void {
    if (Number.isNaN(found)) this.#book.fault(`${where} says no ${what}`);
    else if (found < before[what]) this.#book.fault(`${where} went back`, `${what} ${found} of ${this.#estab}, after ${before[what]} was seen`);
    else this.#latest[what] = Math.max(this.#latest[what], found);
  }

  noteVersion({ headers }: Answered, before: { version: number; number: number }, where: string): void {
    this.note('version', Number.parseInt(headers.get('x-roster-version') ?? '', 10), before, where);
  }
}
