// In charge of reading a log in tests: what was written, a line at a time.
import type { LogStream } from '../src/http/log-lines.ts';

export type LogLine = Record<string, unknown> & { level: number; msg: string };

export const warning = 40;

export function keepLog(): LogStream & { text(): string; lines(): LogLine[] } {
  const kept: string[] = [];
  return {
    write: (line) => kept.push(line),
    text: () => kept.join(''),
    lines: () => kept.map((line) => JSON.parse(line) as LogLine),
  };
}
