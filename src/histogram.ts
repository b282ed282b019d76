// In charge of counting how values are spread: how many lie up to each bound, and their sum.

/** counts: of each bound those above the one before and up to it, and last those above all. */
export type Distribution = Readonly<{ bounds: readonly number[]; counts: readonly number[]; sum: number }>;

export class Histogram implements Distribution {
  readonly bounds: readonly number[];
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    this.add({ place: this.#placeOf(value), count: 1, sum: value });
  }

  /** Several at once, counted elsewhere: how many lie between two bounds, and their sum. */
  add({ place, count, sum }: { place: number; count: number; sum: number }): void {
    this.counts[place] = (this.counts[place] ?? 0) + count;
    this.sum += sum;
  }

  /** Of the same bounds. */
  include(other: Distribution): this {
    for (const [place, count] of other.counts.entries()) this.counts[place] = (this.counts[place] ?? 0) + count;
    this.sum += other.sum;
    return this;
  }

  #placeOf(value: number): number {
    const place = this.bounds.findIndex((bound) => value <= bound);
    return place < 0 ? this.bounds.length : place;
  }
}
