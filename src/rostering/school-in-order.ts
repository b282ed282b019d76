// In charge of where a walk stands in one school's records in the order of a sort: what has been taken, what is held, and that what follows
// is read behind it, by what it is sorted by, so that no batch sorts again what came before it only to skip it.
import type { Position } from './plan.ts';
import type { SortKey } from './sort-key.ts';

/** json: finished, where records were asked for. */
export type Row = Position & Readonly<{ sortKey: SortKey; json: string | undefined }>;
/** Every so many-th of those that follow; what they show, or only where they are. */
export type Ask = Readonly<{ count: number; stride: number; withRecords: boolean }>;
/** As many as are asked for: that there are so many is known. */
export type ReadBehind = (behind: Position | undefined, ask: Ask) => Promise<readonly Row[]>;

export class SchoolInOrder {
  /** Among the schools. */
  readonly place: number;
  readonly #read: ReadBehind;
  #rest: number;
  #taken: Position | undefined;
  #rows: readonly Row[] = [];
  #at = 0;
  #lastCount = 0;

  constructor(place: number, count: number, read: ReadBehind) {
    this.place = place;
    this.#rest = count;
    this.#read = read;
  }

  /** How many records come behind what was taken. */
  get rest(): number {
    return this.#rest;
  }

  get held(): number {
    return this.#rows.length - this.#at;
  }

  /** Half of what came last has been taken: as others have to be asked, so may this one. */
  get isLow(): boolean {
    return this.held * 2 <= this.#lastCount;
  }

  get head(): Row {
    return this.#rows[this.#at] as Row;
  }

  /** Whether more can be read than it holds. */
  hasMore(stride: number): boolean {
    return this.#rest - this.held * stride >= stride;
  }

  take(stride: number): Row {
    const row = this.head;
    this.#at += 1;
    this.#rest -= stride;
    this.#taken = row;
    return row;
  }

  /** Goes on behind what was taken, with other strides. */
  drop(): void {
    this.#rows = [];
    this.#at = 0;
  }

  async readMore({ count, stride, withRecords }: Ask): Promise<void> {
    const asked = Math.min(count, Math.floor(this.#rest / stride) - this.held);
    if (asked < 1) return;
    const rows = await this.#read(this.held > 0 ? this.#rows.at(-1) : this.#taken, { count: asked, stride, withRecords });
    if (rows.length !== asked) throw new Error(`of ${asked} records that were counted ${rows.length} are there at the same version`);
    this.#rows = [...this.#rows.slice(this.#at), ...rows];
    this.#at = 0;
    this.#lastCount = asked;
  }
}
