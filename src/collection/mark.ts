// In charge of what a mark is: one entry of an attendance register, as it is read, written and judged.
/** Marks as a file of a package, or beside one. */
export const attendanceFile = 'attendance.csv';

export const sessions = ['AM', 'PM'] as const;
export type Session = (typeof sessions)[number];

/** One entry of a register. A mark undefined is one that was taken back. */
export type MarkRow = Readonly<{
  /** Where it stands in its source. */
  line: number;
  studentId: string;
  /** YYYY-MM-DD */
  date: string;
  session: Session;
  mark: string | undefined;
  minutesLate: number | undefined;
  notes: string | undefined;
}>;
