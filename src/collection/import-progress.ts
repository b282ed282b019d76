// In charge of what an import says while it is under way: which step it is at, and how far.

export type ImportProgress = Readonly<{
  /** waiting: for another import of the same school. */
  step: 'reading' | 'waiting' | 'copying' | 'checking' | 'comparing' | 'merging' | 'finishing';
  /** So far in this step, or all that it is about. */
  records: number;
  /** Where the step counts them. */
  of?: number;
  /** Of the source, while it is read, where its size is known. */
  share?: number;
}>;

export type OnImportProgress = (progress: ImportProgress) => void;
