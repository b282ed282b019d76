// In charge of the shape of one file of the demo school, and of changing its records by id and column.

/** Rows hold unescaped cell texts in header order. */
export type DemoFile = { readonly name: string; readonly header: readonly string[]; readonly rows: readonly (readonly string[])[] };

export type Cells = Readonly<Record<string, string>>;

/** A copy of a file that can be changed; the file stays as it is. */
export class Sheet {
  readonly #file: DemoFile;
  readonly #positions: ReadonlyMap<string, number>;
  readonly #rows: Map<string, readonly string[]>;

  constructor(file: DemoFile) {
    this.#file = file;
    this.#positions = new Map(file.header.map((column, position) => [column, position]));
    this.#rows = new Map(file.rows.map((row) => [row[0] ?? '', row]));
  }

  has(id: string): boolean {
    return this.#rows.has(id);
  }

  ids(): string[] {
    return [...this.#rows.keys()];
  }

  get(id: string, column: string): string {
    return this.#rows.get(id)?.[this.#position(column)] ?? '';
  }

  /** All cells of a record. */
  cells(id: string): Cells {
    return Object.fromEntries(this.#file.header.map((column) => [column, this.get(id, column)]));
  }

  /** The ids of the records that have these cells. */
  where(wanted: Cells): string[] {
    const cells = Object.entries(wanted).map(([column, value]) => [this.#position(column), value] as const);
    return [...this.#rows].flatMap(([id, row]) => (cells.every(([position, value]) => row[position] === value) ? [id] : []));
  }

  set(id: string, cells: Cells): void {
    const row = [...(this.#rows.get(id) ?? this.#file.header.map(() => ''))];
    for (const [column, value] of Object.entries({ sourcedId: id, ...cells })) row[this.#position(column)] = value;
    this.#rows.set(id, row);
  }

  /** One with the same columns and no records. */
  emptied(): Sheet {
    return new Sheet({ ...this.#file, rows: [] });
  }

  close(): DemoFile {
    return { ...this.#file, rows: [...this.#rows.values()] };
  }

  #position(column: string): number {
    const position = this.#positions.get(column);
    if (position === undefined) throw new RangeError(`${this.#file.name} has no column ${column}`);
    return position;
  }
}
