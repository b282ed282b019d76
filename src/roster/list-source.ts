// In charge of what a source of records is, whether they come out of a file or out of the database: whoever answers asks no further.

/** How a list may be compressed. */
export type Encoding = 'gzip' | 'zstd';

/** How many records there are of each establishment. */
export type Counts = ReadonlyMap<string, number>;

/** Some finished records separated by commas, between bytes that are left free. */
export type Page = Readonly<{ bytes: Buffer; counts: Counts }>;

/** What is left free around the records of a page. */
export type Margins = Readonly<{ before: number; behind: number }>;

/** Some finished records of one establishment, separated by commas. */
export type ListPiece = Readonly<{ bytes: Buffer; count: number; estab: string }>;

/** Records in their order, in pieces. Whoever opened it closes it, since one that is dropped before its first piece never runs. */
export type OpenList = Readonly<{
  total: number;
  /** How many bytes all pieces have, with the commas between them; undefined where that is not known. */
  length: number | undefined;
  pieces: AsyncGenerator<ListPiece>;
  close(): Promise<void>;
}>;

/** All records of a question in their order, of one version of each roster. */
export type ListSource = Readonly<{
  total(): Promise<number>;
  page(paging: { limit: number; offset: number }, margins: Margins): Promise<Page & { total: number }>;
  open(paging: { limit: number | undefined; offset: number }): Promise<OpenList>;
  /** All of it between other bytes, where that is ready or can be made as it goes; length: of what is sent, if that is known. */
  openCompressed?(encoding: Encoding, wrapper: { before: Buffer; behind: Buffer }): Promise<(CompressedList & { total: number }) | undefined>;
}>;

/** tell: hears of a school's records as soon as they begin to leave. */
export type CompressedList = Readonly<{ length: number | undefined; bytes(tell: (counts: Counts) => unknown): AsyncGenerator<Buffer>; close(): void }>;
