// In charge of keeping a school's list as a file while its records go by. What fails here is nobody's concern but the folder's.
import { ListWriter, type ListFile, type Piece } from './list-file.ts';
import type { Draft, ListFolder } from './list-folder.ts';

/** Records are taken in their order; in the end they are kept if they are as many as they should be. */
export type Keeping = {
  /** False where it has come to nothing. */
  add(piece: Piece): Promise<boolean>;
  copy(file: ListFile, from: number, to: number): Promise<boolean>;
  keep(): Promise<boolean>;
  drop(): Promise<void>;
};

export function toPiece(records: readonly string[]): Piece {
  return { bytes: Buffer.from(records.join(',')), lengths: records.map((record) => Buffer.byteLength(record)) };
}

/** alone: only where nobody else in this process is at it. */
export async function beginKeeping(
  folder: ListFolder,
  { file, count }: { file: string; count: number },
  how = { alone: false },
): Promise<Keeping | undefined> {
  const draft: Draft | undefined = await folder.begin(file, how);
  let writer: ListWriter | undefined;
  let taken = 0;
  return (
    draft && {
      add(piece) {
        taken += piece.lengths.length;
        return draft.attempt((handle) => (writer ??= new ListWriter(handle, draft.room)).add(piece));
      },
      copy(from, start, end) {
        taken += end - start;
        return draft.attempt((handle) => (writer ??= new ListWriter(handle, draft.room)).copy(from, start, end));
      },
      async keep() {
        if (taken !== count || !(await draft.attempt((handle) => (writer ?? new ListWriter(handle, draft.room)).end()))) {
          await draft.drop();
          return false;
        }
        return draft.keep();
      },
      drop: () => draft.drop(),
    }
  );
}
