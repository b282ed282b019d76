// Covers the reading of one CSV file as a stream: line ends, quoting, line numbers, encodings, and records too long
// to be held, each with the file cut into chunks of many sizes.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import fc from 'fast-check';
import { SourceError, type Problem } from '../../problem.ts';
import type { PackageFile } from './package.ts';
import { maxRecordCharacters, readCsv, type CsvRecord } from './read-csv.ts';
import { renderCsvRow } from './write-csv.ts';

const chunkSizes = [1, 2, 3, 5, 7, 16, 64, 65_536];

/** In object mode every chunk arrives as it was cut. */
function fileOf(chunks: Iterable<Buffer>): PackageFile {
  return { name: 'users.csv', size: 0, open: async () => Readable.from(chunks, { objectMode: true }) };
}

function* cut(content: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size);
}

async function readAll(file: PackageFile, onBytes: (count: number) => void = () => {}): Promise<CsvRecord[]> {
  const records: CsvRecord[] = [];
  for await (const batch of readCsv(file, onBytes)) records.push(...batch);
  return records;
}

async function problemOf(file: PackageFile): Promise<Problem> {
  const error = await readAll(file).then(() => undefined, (thrown: unknown) => thrown);
  assert.ok(error instanceof SourceError, `expected a SourceError, got ${String(error)}`);
  assert.equal(error.problem.file, 'users.csv');
  return error.problem;
}

type Expected = [line: number, ...cells: string[]][];

const readable: [name: string, content: string, expected: Expected][] = [
  ['nothing at all', '', []],
  ['a byte order mark', '\uFEFFid,name\n1,Ada\n', [[1, 'id', 'name'], [2, '1', 'Ada']]],
  ['a byte order mark before a quote', '\uFEFF"id",name\n', [[1, 'id', 'name']]],
  ['a byte order mark further on is text', 'id,name\n1,\uFEFFAda\n', [[1, 'id', 'name'], [2, '1', '\uFEFFAda']]],
  ['LF', 'a,b\nc,d\n', [[1, 'a', 'b'], [2, 'c', 'd']]],
  ['CRLF', 'a,b\r\nc,d\r\n', [[1, 'a', 'b'], [2, 'c', 'd']]],
  ['LF and CRLF mixed', 'a,b\r\nc,d\ne,f\r\n', [[1, 'a', 'b'], [2, 'c', 'd'], [3, 'e', 'f']]],
  ['a last line without a line end', 'a,b\nc,d', [[1, 'a', 'b'], [2, 'c', 'd']]],
  ['a last line that ends in a quote', 'a,b\nc,"d"', [[1, 'a', 'b'], [2, 'c', 'd']]],
  ['empty lines', '\n\r\na,b\n\n\r\nc,d\n\n\n', [[3, 'a', 'b'], [6, 'c', 'd']]],
  ['empty cells', ',\n"",""\n,,\n', [[1, '', ''], [2, '', ''], [3, '', '', '']]],
  ['quoted commas', '"a,b",c\r\n"d,","e,f"\r\n', [[1, 'a,b', 'c'], [2, 'd,', 'e,f']]],
  ['quoted quotes', '"say ""hi""",""""\n"""",""""""\n', [[1, 'say "hi"', '"'], [2, '"', '""']]],
  ['quotes around every cell with CRLF', '"a","b"\r\n"c","d"\r\n', [[1, 'a', 'b'], [2, 'c', 'd']]],
  ['line breaks inside cells', 'a,"b\nb\r\nb"\r\n"c\n\n",d\ne,f\n', [[1, 'a', 'b\nb\r\nb'], [4, 'c\n\n', 'd'], [7, 'e', 'f']]],
  ['empty lines inside and between records', '"a\n\nb",c\n\n"d\n",e\n\n\nf,g\n', [[1, 'a\n\nb', 'c'], [5, 'd\n', 'e'], [9, 'f', 'g']]],
  ['spaces are kept', ' a , b \n" c ",d\n', [[1, ' a ', ' b '], [2, ' c ', 'd']]],
  ['characters of two, three and four bytes', 'Zoë,Łukasz,日本\n"😀,é",𝔘,ß\n', [[1, 'Zoë', 'Łukasz', '日本'], [2, '😀,é', '𝔘', 'ß']]],
  ['records of different lengths', 'a\nb,c\nd,e,f\n', [[1, 'a'], [2, 'b', 'c'], [3, 'd', 'e', 'f']]],
];

for (const [name, content, expected] of readable) {
  test(`reads ${name}, whatever the chunks`, async () => {
    const bytes = Buffer.from(content);
    for (const size of chunkSizes) {
      const records = await readAll(fileOf(cut(bytes, size)));
      assert.deepEqual(records.map(({ line, cells }) => [line, ...cells]), expected, `chunks of ${size}`);
    }
  });
}

test('a border at any byte changes nothing', async () => {
  const bytes = Buffer.from('\uFEFFid,"na""me"\r\n1,"Zoë, 😀\r\nsecond"\r\n\r\n"日""本",""\n2,é');
  const whole = await readAll(fileOf([bytes]));
  assert.deepEqual(whole.map((record) => record.line), [1, 2, 5, 6]);
  for (let at = 0; at <= bytes.length; at += 1) assert.deepEqual(await readAll(fileOf([bytes.subarray(0, at), bytes.subarray(at)])), whole, `border at ${at}`);
});

test('what is written reads back, whatever the cells and the chunks', async () => {
  const cell = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r\n', ' ', 'é', '😀', '\t', '\\') }),
    fc.string({ unit: 'grapheme' }).filter((text) => !text.endsWith('\r')),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { maxLength: 6 }), fc.integer({ min: 1, max: 9 }), async (rows, size) => {
      const text = rows.map(renderCsvRow).join('');
      const records = await readAll(fileOf(cut(Buffer.from(text), size)));
      assert.deepEqual(records.map((record) => record.cells), rows);
      let line = 1;
      for (const [index, row] of rows.entries()) {
        assert.equal(records[index]?.line, line);
        line += renderCsvRow(row).split('\n').length - 1;
      }
    }),
    { numRuns: 150 },
  );
});

test('every byte is counted once', async () => {
  const bytes = Buffer.from('\uFEFFa,b\r\n"é\n",😀\r\n');
  for (const size of chunkSizes) {
    let counted = 0;
    await readAll(fileOf(cut(bytes, size)), (count) => (counted += count));
    assert.equal(counted, bytes.length);
  }
});

const broken: [name: string, content: string | Buffer, line: number, rule: RegExp][] = [
  ['a quote that is never closed', 'a,b\nc,d\n"e,f\ng,h\n', 3, /quoted field/],
  ['a quote that is never closed, after cells of several lines', 'a,"b\n\nb"\n"c\n",d\ne,"f', 6, /quoted field/],
  ['a quote that is never closed, on the last line', 'a,b\nc,"', 2, /quoted field/],
  ['text after a closing quote', 'a,b\n"c"d,e\nf,g\n', 2, /quoted field/],
  ['text after a closing quote, with later quotes', 'a,b\nc,"d"e\n"f","g"\n', 2, /quoted field/],
  ['a single quote inside a quoted cell', 'a,b\n\n"c"c",d\n', 3, /quoted field/],
  ['a byte that is not UTF-8', Buffer.concat([Buffer.from('a,b\nc,d\ne,'), Buffer.from([0xff]), Buffer.from('f\ng,h\n')]), 3, /UTF-8/],
  ['Latin-1', Buffer.from('a,b\nc,d\nJos\u00e9,e\n', 'latin1'), 3, /UTF-8/],
  ['a character cut off at the end', Buffer.concat([Buffer.from('a,b\nc,'), Buffer.from('é').subarray(0, 1)]), 2, /UTF-8/],
  ['an overlong encoding', Buffer.concat([Buffer.from('a,b\n'), Buffer.from([0xc0, 0xaf])]), 2, /UTF-8/],
  ['a lone surrogate', Buffer.concat([Buffer.from('a,b\n'), Buffer.from([0xed, 0xa0, 0x80])]), 2, /UTF-8/],
  ['UTF-16, little end first', Buffer.from('\uFEFFa,b\nc,d\n', 'utf16le'), 1, /UTF-8/],
  ['UTF-16, big end first', Buffer.from('\uFEFFa,b\nc,d\n', 'utf16le').swap16(), 1, /UTF-8/],
];

for (const [name, content, line, rule] of broken) {
  test(`refuses ${name} and names the line`, async () => {
    for (const size of chunkSizes) {
      const problem = await problemOf(fileOf(cut(Buffer.from(content), size)));
      assert.match(problem.rule, rule);
      assert.equal(problem.line, line, `chunks of ${size}`);
    }
  });
}

test('records before a broken one have been handed over by then', async () => {
  const seen: number[] = [];
  const reading = (async () => {
    for await (const batch of readCsv(fileOf([Buffer.from('a,b\nc,d\n'), Buffer.from('"e"f,g\n')]), () => {})) seen.push(...batch.map((record) => record.line));
  })();
  await assert.rejects(reading, SourceError);
  assert.deepEqual(seen, [1, 2]);
});

test('a record as long as is allowed is read', async () => {
  const content = Buffer.from(`a,b\n"${'x'.repeat(maxRecordCharacters - 100)}",c\nd,e\n`);
  for (const size of [65_536, 1_000_000]) {
    const records = await readAll(fileOf(cut(content, size)));
    assert.deepEqual(records.map((record) => record.line), [1, 2, 3]);
    assert.equal(records[1]?.cells[0]?.length, maxRecordCharacters - 100);
  }
});

test('a longer record is refused, however it arrives', async () => {
  for (const record of [`"${'x'.repeat(maxRecordCharacters + 1)}",c`, `${'x,'.repeat(maxRecordCharacters)}c`, `"${'\n'.repeat(maxRecordCharacters + 1)}",c`]) {
    const content = Buffer.from(`a,b\n${record}\nd,e\n`);
    for (const size of [65_536, 1_000_000, content.length]) {
      const problem = await problemOf(fileOf(cut(content, size)));
      assert.match(problem.rule, /longer than 1048576/);
      assert.equal(problem.line, 2, `chunks of ${size}`);
    }
  }
});

const endless: [name: string, start: string, chunk: string][] = [
  ['a quoted field of 2 GB', 'a,b\n"', 'x'],
  ['a quoted field of 2 GB of line breaks', 'a,b\n"', '\n'],
  ['a field of 2 GB', 'a,b\n', 'x'],
  ['a record of 2 GB of short fields', 'a,b\n', 'x,'],
  ['a field of 2 GB after a stray quote', 'a,b\n"c"', 'd,"e"'],
];

for (const [name, start, unit] of endless) {
  test(`${name} is refused early, in flat memory`, async () => {
    const chunk = Buffer.from(unit.repeat(Math.ceil(65_536 / unit.length)));
    let sent = 0;
    function* chunks(): Generator<Buffer> {
      yield Buffer.from(start);
      for (; sent < 2 * 1024 ** 3; sent += chunk.length) yield chunk;
    }
    const before = process.memoryUsage().rss;
    const problem = await problemOf(fileOf(chunks()));
    assert.equal(problem.line, 2);
    assert.ok(sent < 8 * 1024 ** 2, `${sent} bytes were taken`);
    assert.ok(process.memoryUsage().rss - before < 256 * 1024 ** 2, `memory grew by ${process.memoryUsage().rss - before}`);
  });
}

test('a file far larger than memory may be is read in flat memory', async () => {
  const chunk = Buffer.from('S1000001,,,true,School,student,someone,,Some,One,"with, a comma"\r\n'.repeat(4000));
  function* chunks(): Generator<Buffer> {
    for (let sent = 0; sent < 96 * 1024 ** 2; sent += chunk.length) yield chunk;
  }
  let records = 0;
  let highest = 0;
  const before = process.memoryUsage().rss;
  for await (const batch of readCsv(fileOf(chunks()), () => {})) {
    records += batch.length;
    highest = Math.max(highest, process.memoryUsage().rss);
  }
  assert.ok(records > 1_000_000);
  assert.ok(highest - before < 300 * 1024 ** 2, `memory grew by ${highest - before}`);
});

test('the stream is closed when reading stops, fails or cannot go on', async () => {
  const open = (chunks: Iterable<Buffer>) => {
    const stream = Readable.from(chunks, { objectMode: true });
    return { stream, file: { name: 'users.csv', size: 0, open: async () => stream } };
  };
  const stopped = open([Buffer.from('a,b\n'), Buffer.from('c,d\n')]);
  for await (const batch of readCsv(stopped.file, () => {})) if (batch.length > 0) break;
  assert.ok(stopped.stream.destroyed);

  const failed = open([Buffer.from('"a"b\n'), Buffer.from('c,d\n')]);
  await assert.rejects(readAll(failed.file), SourceError);
  assert.ok(failed.stream.destroyed);

  const torn = open((function* () {
    yield Buffer.from('a,b\nc,');
    throw new Error('the disk is gone');
  })());
  const error = await readAll(torn.file).then(() => undefined, (thrown: unknown) => thrown);
  assert.ok(error instanceof SourceError);
  assert.match(error.problem.rule, /the disk is gone/);
  assert.ok(torn.stream.destroyed);
});
