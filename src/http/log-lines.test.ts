// On a terminal the log is lines that people read; elsewhere it is left to the logger, as JSON.
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { WriteStream } from 'node:tty';
import { stripVTControlCharacters } from 'node:util';
import { createLogStream } from './log-lines.ts';

const time = new Date(2026, 8, 1, 9, 5, 7, 250).getTime();

/** What a terminal shows of these entries, under this environment. */
function shown(entries: readonly object[], env: Record<string, string> = { TERM: 'xterm-256color' }): string {
  const terminal = new PassThrough() as PassThrough & NodeJS.WriteStream;
  const getColorDepth = () => WriteStream.prototype.getColorDepth.call(terminal, env);
  Object.assign(terminal, { isTTY: true, getColorDepth });
  const stream = createLogStream(terminal);
  for (const entry of entries) stream?.write(`${JSON.stringify({ level: 30, time, pid: 1, hostname: 'h', ...entry })}\n`);
  return String(terminal.read());
}

const request = { requestId: 'abcdef0123456789abcd', method: 'GET', path: '/api/v1/Students', route: '/api/v1/:name', status: 200, ms: 12.34, msg: 'request' };

test('a request is one line: time, method, path, status, milliseconds, application, school and the beginning of its id', () => {
  const line = shown([{ ...request, rp: 'app', estab: '9990001', address: '127.0.0.1' }]);
  assert.equal(stripVTControlCharacters(line), `09:05:07 GET    ${'/api/v1/Students'.padEnd(44)} 200    12 ms app 9990001 abcdef01\n`);
  const wrong = { ...request, status: 400, refusedAs: 'invalid_filter' };
  assert.match(stripVTControlCharacters(shown([wrong])), / 400 +12 ms - - invalid_filter abcdef01\n$/);
  assert.equal(stripVTControlCharacters(shown([request])), `09:05:07 GET    ${'/api/v1/Students'.padEnd(44)} 200    12 ms - - abcdef01\n`);
});

test('statuses have colours, unless NO_COLOR is set', () => {
  for (const [status, colour] of [[200, 32], [404, 33], [503, 31]] as const)
    assert.ok(shown([{ ...request, status }]).includes(`\u001b[${colour}m${status}\u001b[39m`), String(status));
  const plain = shown([request], { TERM: 'xterm-256color', NO_COLOR: '1' });
  assert.equal(plain, stripVTControlCharacters(plain));
});

test('other lines are a level, a sentence and what belongs to it; a fault is shown beneath', () => {
  const text = stripVTControlCharacters(shown([
    { level: 40, kind: 'collect', estab: 'S1', reason: 'the MIS is away', msg: 'a collection failed' },
    { level: 50, err: { message: 'broken', stack: 'Error: broken\n    at somewhere' }, msg: 'work failed unexpectedly' },
  ]));
  assert.deepEqual(text.split('\n'), [
    '09:05:07 warn  a collection failed kind=collect estab=S1 reason=the MIS is away',
    '09:05:07 error work failed unexpectedly',
    '         Error: broken',
    '             at somewhere',
    '',
  ]);
});

test('what others wrote does not steer the terminal', () => {
  const line = shown([{ ...request, path: '/\u001b[2J' }, { reason: 'a\nb\u0007c\u202ed', msg: 'x' }], { TERM: 'dumb' });
  assert.match(line, /\/\uFFFD\[2J/);
  assert.match(line, /reason=a\uFFFDb\uFFFDc\uFFFDd\n/);
});

test('elsewhere it is JSON', () => {
  assert.equal(createLogStream(new PassThrough() as PassThrough & NodeJS.WriteStream), undefined);
});
