// In charge of how the log looks: lines that people read on a terminal, with colours unless NO_COLOR says otherwise, and
// JSON everywhere else.
import { inspect, styleText } from 'node:util';
import { printable } from './printable.ts';
import { requestLine } from './request-log.ts';

export type LogStream = { write(line: string): unknown };
type Format = Parameters<typeof styleText>[0];
type Entry = Record<string, unknown> & { level: number; time: number; msg?: string; err?: { stack?: string; message?: string } };

const pathWidth = 44;
const shortId = 8;
const levels: Readonly<Record<number, { word: string; format: Format }>> = {
  10: { word: 'trace', format: 'dim' },
  20: { word: 'debug', format: 'dim' },
  30: { word: 'info', format: 'cyan' },
  40: { word: 'warn', format: 'yellow' },
  50: { word: 'error', format: 'red' },
  60: { word: 'fatal', format: 'red' },
};
const shown = (text: string) => printable(text, '\u{fffd}');
/** Known from elsewhere on the line, or of no use to a person in front of it. */
const unsaid: ReadonlySet<string> = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'err', 'requestId']);

/** Undefined: the logger's own way out, JSON. */
export function createLogStream(out: NodeJS.WriteStream): LogStream | undefined {
  if (!out.isTTY) return undefined;
  return { write: (line) => out.write(renderEntry(line, (format, text) => styleText(format, text, { stream: out }))) };
}

export function renderEntry(line: string, paint: (format: Format, text: string) => string): string {
  const entry = JSON.parse(line) as Entry;
  const time = paint('dim', new Date(entry.time).toTimeString().slice(0, 8));
  const id = typeof entry.requestId === 'string' ? [paint('dim', entry.requestId.slice(0, shortId))] : [];
  const words = entry.msg === requestLine ? describeRequest(entry, paint) : describeEvent(entry, paint);
  return `${[time, ...words, ...id].join(' ')}\n${describeFault(entry, paint)}`;
}

function describeRequest(entry: Entry, paint: (format: Format, text: string) => string): string[] {
  const { method, path, status, ms, rp, estab, cutOff, refusedAs } = entry;
  return [
    paint('bold', String(method).padEnd(6)),
    shown(String(path)).padEnd(pathWidth),
    paint(statusFormat(Number(status)), String(status)),
    paint('dim', `${Number(ms) < 10 ? Number(ms).toFixed(1) : Math.round(Number(ms))} ms`.padStart(8)),
    ...(cutOff ? [paint('yellow', 'cut off')] : []),
    rp === undefined ? '-' : paint('magenta', String(rp)),
    estab === undefined ? '-' : paint('blue', String(estab)),
    ...(refusedAs === undefined ? [] : [paint('yellow', String(refusedAs))]),
  ];
}

function statusFormat(status: number): Format {
  if (status >= 500) return 'red';
  return status >= 400 ? 'yellow' : 'green';
}

function describeEvent(entry: Entry, paint: (format: Format, text: string) => string): string[] {
  const { word, format } = levels[entry.level] ?? { word: String(entry.level), format: 'dim' };
  const said = Object.entries(entry)
    .filter(([name, value]) => !unsaid.has(name) && value !== undefined && value !== null)
    .map(([name, value]) => `${paint('dim', `${name}=`)}${shown(typeof value === 'string' ? value : inspect(value, { breakLength: Infinity }))}`);
  return [paint(format, word.padEnd(5)), shown(entry.msg ?? ''), ...said];
}

function describeFault({ err }: Entry, paint: (format: Format, text: string) => string): string {
  if (!err) return '';
  const text = err.stack || err.message || '';
  return `${text.split('\n').map((line) => paint('dim', `         ${shown(line)}`)).join('\n')}\n`;
}
