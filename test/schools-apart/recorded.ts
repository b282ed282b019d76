// Covers the statements that the suite has just executed: `npm test` runs this after the tests, with what they recorded.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { placements } from '../../src/db/placement.ts';
import { describeGone, describeNew, findOffending } from './check.ts';
import { citusUrl } from '../spread-database.ts';
import { offenders, offendersOfSpread } from './offenders.ts';
import { readSources } from './sources.ts';
import { readKnown, readTables } from './tables.ts';

const { RECORDED_STATEMENTS: folder = '', RECORDED_ALL: all } = process.env;
const onlySome = all === 'yes' ? false : 'only some tests ran, or some of them failed';
/** Some tests do not run on several nodes. */
const otherTests = onlySome || (citusUrl !== undefined && 'some tests run on one node only');
const listed = citusUrl === undefined ? offenders : [...offenders, ...offendersOfSpread];
const lines = readdirSync(folder).flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n').filter(Boolean));
const texts = new Set(lines.map((line) => JSON.parse(line) as string));
const sources = readSources();
const started = performance.now();
const offending = findOffending(texts, await readTables(), sources, placements, await readKnown(placements));
const seconds = (performance.now() - started) / 1000;

test('the statements of the suite were recorded', { skip: onlySome }, () => {
  assert.ok(texts.size > 0, 'nothing was published on the channel schoolbell:statement, or test/record-statements.ts was not loaded');
});

test('each table of a school is compared with the establishment, or the statement is listed with a reason', (t) => {
  t.diagnostic(`${texts.size} distinct texts, read in ${seconds.toFixed(1)} s; ${offending.size} of the product do not keep schools apart`);
  const unlisted = describeNew(offending, listed, sources);
  assert.ok(unlisted.length === 0, `\n\n${unlisted.join('\n\n')}\n`);
});

test('what is listed still occurs', { skip: otherTests }, () => {
  const gone = describeGone(offending, offenders);
  assert.ok(gone.length === 0, `\n\n${gone.join('\n')}\n`);
});
