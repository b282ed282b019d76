// In charge of a set of a million ids in a few megabytes: of each only a hash of 53 bits is kept, so that an id may seem to be in it that is not.

const smallest = 1024;
/** Of more nobody should keep one: so many take 32 MB. */
export const mostIds = 2_000_000;

export class IdSet {
  #slots = new Float64Array(smallest);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Gives whether it was new. */
  add(id: string): boolean {
    if (this.#size * 2 >= this.#slots.length) this.#grow();
    const hash = hashOf(id);
    const at = findSlot(this.#slots, hash);
    if (this.#slots[at] !== 0) return false;
    this.#slots[at] = hash;
    this.#size += 1;
    return true;
  }

  has(id: string): boolean {
    return this.#slots[findSlot(this.#slots, hashOf(id))] !== 0;
  }

  #grow(): void {
    const larger = new Float64Array(this.#slots.length * 2);
    for (const hash of this.#slots) if (hash !== 0) larger[findSlot(larger, hash)] = hash;
    this.#slots = larger;
  }
}

/** Where it is, or where it would be; 0 is nothing. */
function findSlot(slots: Float64Array, hash: number): number {
  const last = slots.length - 1;
  for (let at = hash & last; ; at = (at + 1) & last) if (slots[at] === 0 || slots[at] === hash) return at;
}

/** Two sums with different factors, mixed at the end (cyrb53); never 0. */
function hashOf(id: string): number {
  let [one, other] = [0xdeadbeef, 0x41c6ce57];
  for (let at = 0; at < id.length; at += 1) {
    const unit = id.charCodeAt(at);
    one = Math.imul(one ^ unit, 0x9e3779b1);
    other = Math.imul(other ^ unit, 0x5f356495);
  }
  one = Math.imul(one ^ (one >>> 16), 0x85ebca6b) ^ Math.imul(other ^ (other >>> 13), 0xc2b2ae35);
  other = Math.imul(other ^ (other >>> 16), 0x85ebca6b) ^ Math.imul(one ^ (one >>> 13), 0xc2b2ae35);
  return 4_294_967_296 * (other & 0x1fffff) + (one >>> 0) || 1;
}
