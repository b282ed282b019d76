// In charge of the progress bar: on a terminal only, on standard error, redrawn at most ten times a second.

export function createProgressBar(label: string): { show(done: number, total: number): void; end(): void } {
  const terminal = process.stderr;
  let drawnAt = 0;
  if (!terminal.isTTY) return { show: () => {}, end: () => {} };
  return {
    show(done, total) {
      if (Date.now() - drawnAt < 100) return;
      drawnAt = Date.now();
      const share = total === 0 ? 1 : Math.min(1, done / total);
      const width = 30;
      const filled = Math.round(share * width);
      terminal.write(`\r${label} [${'#'.repeat(filled)}${' '.repeat(width - filled)}] ${Math.round(share * 100)} %${share === 1 ? ', merging' : ''}\u001b[K`);
    },
    end() {
      terminal.write('\r\u001b[K');
    },
  };
}
