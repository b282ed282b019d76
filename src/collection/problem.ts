// In charge of what is wrong with a source: each problem names file, line, column, value and rule, and those that break
// the same rule in the same place of their files are one group.
import { cutText } from '../http/cut-text.ts';
import { storableText } from './value-rules.ts';

export type Problem = {
  file: string;
  line: number | null;
  column: string | null;
  value: string | null;
  rule: string;
  /** Rows that are right but refer to this one, and fall with it. */
  dependants?: number;
};

/** Problems of one kind; the lines are the first of them. */
export type Fault = { file: string; column: string | null; rule: string; count: number; dependants: number; lines: number[] };

/** A source that cannot be used at all. */
export class SourceError extends Error {
  readonly problem: Problem;

  constructor(file: string, rule: string, at: { line?: number; column?: string; value?: string } = {}) {
    super(`${file}: ${rule}`);
    this.name = 'SourceError';
    this.problem = { file, line: at.line ?? null, column: at.column ?? null, value: shownValue(at.value), rule };
  }
}

/** The rule that a reference breaks which leads nowhere; imported: whether the file that it leads to is part of the import. */
export function noSuchRecord(file: string, imported: boolean): string {
  return `there is no such record in ${imported ? file : `the roster (${file} is not in this import)`}`;
}

/** A report lists this many problems and counts the rest. */
export const listedProblems = 1000;
/** So many are kept, for whoever wants them all. */
export const keptFaults = 100_000;
export const shownValueLength = 200;
const shownLines = 5;
const shownValue = (value: string | null | undefined) => (value === null || value === undefined ? null : storableText(cutText(value, shownValueLength)));
/** A file with a thousand columns of its own can be wrong in a thousand ways; the rest is one group for each file. */
const mostGroups = 200;

/** Where all of them go, as lines. */
export type FaultSink = Readonly<{ encode(number: number, problem: Problem): string; write(lines: string): Promise<void> }>;

export class Problems {
  readonly listed: Problem[] = [];
  readonly groups = new Map<string, Fault>();
  total = 0;
  readonly #sink: FaultSink | undefined;
  #pending = '';

  constructor(sink?: FaultSink) {
    this.#sink = sink;
  }

  add(given: Problem): void {
    const problem = { ...given, value: shownValue(given.value) };
    this.count(1, problem);
    if (this.listed.length < listedProblems) this.listed.push(problem);
    if (this.#sink && this.total <= keptFaults) this.#pending += this.#sink.encode(this.total, problem);
  }

  /** To be called now and then, and at the end: what was added goes to where all of them go. */
  async flush(): Promise<void> {
    const lines = this.#pending;
    this.#pending = '';
    if (lines !== '') await this.#sink?.write(lines);
  }

  /** These, to go on from. What is added to the copy is kept by whoever adds it. */
  copy(): Problems {
    const copy = new Problems();
    for (const problem of this.listed) copy.listed.push({ ...problem });
    for (const [key, group] of this.groups) copy.groups.set(key, { ...group, lines: [...group.lines] });
    copy.total = this.total;
    return copy;
  }

  /** More of the same as this one, which were only counted. */
  count(more: number, { file, line, column, rule }: Problem): void {
    if (more === 0) return;
    this.total += more;
    const key = keyOf({ file, column, rule });
    const group = this.groups.get(key) ?? this.#newGroup(key, { file, column, rule });
    group.count += more;
    // The numbers in it are another row's.
    if (group.rule !== rule && keyOf({ file, column, rule: group.rule }) === key) group.rule = generalise(rule);
    if (line !== null && group.lines.length < shownLines && group.lines.at(-1) !== line) group.lines.push(line);
  }

  /** The group in which such a problem was counted. */
  groupOf({ file, column, rule }: Pick<Problem, 'file' | 'column' | 'rule'>): Fault | undefined {
    return this.groups.get(keyOf({ file, column, rule })) ?? this.groups.get(keyOf({ file, column: null, rule: manyRules }));
  }

  #newGroup(key: string, { file, column, rule }: Pick<Problem, 'file' | 'column' | 'rule'>): Fault {
    if (this.groups.size >= mostGroups) {
      const rest = keyOf({ file, column: null, rule: manyRules });
      const known = this.groups.get(rest);
      if (known) return known;
      return this.#keep(rest, { file, column: null, rule: manyRules });
    }
    return this.#keep(key, { file, column, rule });
  }

  #keep(key: string, kind: Pick<Fault, 'file' | 'column' | 'rule'>): Fault {
    const group: Fault = { ...kind, count: 0, dependants: 0, lines: [] };
    this.groups.set(key, group);
    return group;
  }
}

const manyRules = 'other rules are broken';

/** Problems of one key are of one kind: what differs in their rules is the number of a line, or of fields. */
function keyOf({ file, column, rule }: Pick<Problem, 'file' | 'column' | 'rule'>): string {
  return JSON.stringify([file, column, generalise(rule)]);
}

function generalise(rule: string): string {
  return rule.replace(/[0-9]+/g, '…');
}
