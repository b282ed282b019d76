// In charge of what is wrong with a source: each problem names file, line, column, value and rule.

export type Problem = { file: string; line: number | null; column: string | null; value: string | null; rule: string };

/** A source that cannot be used at all. */
export class SourceError extends Error {
  readonly problem: Problem;

  constructor(file: string, rule: string, at: { line?: number; column?: string; value?: string } = {}) {
    super(`${file}: ${rule}`);
    this.name = 'SourceError';
    this.problem = { file, line: at.line ?? null, column: at.column ?? null, value: at.value?.slice(0, shownValueLength) ?? null, rule };
  }
}

/** A report lists this many problems and counts the rest. */
export const listedProblems = 1000;
export const shownValueLength = 200;

export class Problems {
  readonly listed: Problem[] = [];
  total = 0;

  add(problem: Problem): void {
    this.total += 1;
    if (this.listed.length < listedProblems) this.listed.push({ ...problem, value: problem.value?.slice(0, shownValueLength) ?? null });
  }

  /** These, to go on from. */
  copy(): Problems {
    const copy = new Problems();
    copy.listed.push(...this.listed);
    copy.total = this.total;
    return copy;
  }

  /** Problems that were only counted. */
  count(more: number): void {
    this.total += more;
  }
}
