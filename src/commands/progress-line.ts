// In charge of the progress line of a long command, on standard error alone: on a terminal one line that is rewritten,
// elsewhere (a log) a plain line every few seconds, so that a short command says nothing there.
import type { ImportProgress } from '../collection/import-progress.ts';

export type ProgressLine = { show(progress: ImportProgress): void; end(): void };
type Output = { isTTY?: boolean; write(text: string): unknown };

const [rewriteEveryMs, plainEveryMs] = [200, 5_000];

/** A statement may take long without a word in between: the line goes on by the clock, with the time that has passed. */
export function startProgressLine(command: string, output: Output = process.stderr, now: () => number = () => performance.now()): ProgressLine {
  const began = now();
  let latest: ImportProgress | undefined;
  const write = () => {
    if (latest === undefined) return;
    const words = `${describe(latest)}, ${Math.floor((now() - began) / 1000)} s`;
    output.write(output.isTTY ? `\r${command}: ${words}\u001b[K` : `schoolbell: ${command}: ${words}\n`);
  };
  const timer = setInterval(write, output.isTTY ? rewriteEveryMs : plainEveryMs).unref();
  return {
    show(progress) {
      const isNext = latest?.step !== progress.step;
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

function describe({ step, records, of, share }: ImportProgress): string {
  const what = step === 'waiting' ? 'waiting for another import of this school' : step;
  const counted = `${digits.format(records)}${of === undefined ? '' : ` of ${digits.format(of)}`} records`;
  return `${what}, ${counted}${share === undefined ? '' : `, ${Math.round(100 * Math.min(1, share))} %`}`;
}
