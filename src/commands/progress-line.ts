// In charge of the progress line of a long command, on standard error alone: on a terminal one line that is rewritten,
// elsewhere (a log) a plain line every few seconds, so that a short command says nothing there.
import type { ImportProgress } from '../collection/import-progress.ts';

/** Of an import, or in words of its own. */
type Progress = ImportProgress | string;
export type ProgressLine = { show(progress: Progress): void; end(): void };
type Output = { isTTY?: boolean; write(text: string): unknown };

const [rewriteEveryMs, plainEveryMs] = [200, 5_000];

/** A statement may take long without a word in between: the line goes on by the clock, with the time that has passed. */
export function startProgressLine(command: string, output: Output = process.stderr, now: () => number = () => performance.now()): ProgressLine {
  const began = now();
  let latest: Progress | undefined;
  const write = () => {
    if (latest === undefined) return;
    const words = `${describe(latest)}, ${Math.floor((now() - began) / 1000)} s`;
    output.write(output.isTTY ? `\r${command}: ${words}\u001b[K` : `schoolbell: ${command}: ${words}\n`);
  };
  const timer = setInterval(write, output.isTTY ? rewriteEveryMs : plainEveryMs).unref();
  return {
    show(progress) {
      const isNext = stepOf(latest) !== stepOf(progress);
      latest = progress;
      if (isNext && output.isTTY) write();
    },
    end() {
      clearInterval(timer);
      if (latest !== undefined && output.isTTY) output.write('\r\u001b[K');
    },
  };
}

const digits = new Intl.NumberFormat('en-GB');

/** Words of its own change too often for that: they are all one step. */
const stepOf = (progress: Progress | undefined) => (typeof progress === 'object' ? progress.step : typeof progress);

function describe(progress: Progress): string {
  if (typeof progress === 'string') return progress;
  const { step, records, of, share } = progress;
  const what = step === 'waiting' ? 'waiting for another import of this school' : step;
  const counted = `${digits.format(records)}${of === undefined ? '' : ` of ${digits.format(of)}`} records`;
  return `${what}, ${counted}${share === undefined ? '' : `, ${Math.round(100 * Math.min(1, share))} %`}`;
}
